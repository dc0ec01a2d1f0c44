// The mock engine as a program of its own, so that these tests need nothing of tools/.
#include "suites/run/mock_engine.h"

int main(int argc, char** argv) {
  return nanobench::suites::mock_engine_main(std::vector<std::string>(argv + 1, argv + argc));
}
