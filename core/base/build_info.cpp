#include "core/base/build_info.h"

#include "build_info_values.h"  // written at build time by tools/cmake/write_build_info.cmake

namespace nanobench::core {

const BuildInfo& build_info() {
  static const BuildInfo info{NB_BUILD_VERSION, NB_BUILD_GIT_REVISION, NB_BUILD_IS_DIRTY, NB_BUILD_COMPILER,
                              NB_BUILD_TYPE};
  return info;
}

std::string version_text() {
  const BuildInfo& info = build_info();
  return info.version + " (" + info.git_revision.substr(0, 12) + (info.is_dirty ? ", dirty)" : ")");
}

}  // namespace nanobench::core
