// A library with nothing in it.
extern "C" void nanobench_stub() {}
