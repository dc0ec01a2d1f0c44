// The build that a fake plugin says it is of; fake_plugin.cpp, with LibTorch's headers, is compiled once for all of
// them.
extern const int fake_version;
extern const char* const fake_libtorch;
extern const bool fake_is_full;

const int fake_version = NB_FAKE_VERSION;            // 0: this build's
const char* const fake_libtorch = NB_FAKE_LIBTORCH;  // "": this build's
const bool fake_is_full = NB_FAKE_IS_FULL;           // its GPU has no memory left
