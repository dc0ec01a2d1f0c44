# Run at build time: writes OUTPUT from what git and CMake know; touches it only when something changed.
set(revision unknown)
set(dirty false)
find_program(GIT git)
if(GIT)
  execute_process(COMMAND "${GIT}" --no-optional-locks -C "${SOURCE}" rev-parse HEAD OUTPUT_VARIABLE found RESULT_VARIABLE failed
                  OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  if(NOT failed)
    set(revision "${found}")
    execute_process(COMMAND "${GIT}" --no-optional-locks -C "${SOURCE}" status --porcelain --untracked-files=no OUTPUT_VARIABLE changes ERROR_QUIET)
    if(NOT changes STREQUAL "")
      set(dirty true)
    endif()
  endif()
endif()

set(text "#pragma once

namespace nanobench::results {

inline constexpr const char* kBuildVersion = \"${VERSION}\";
inline constexpr const char* kBuildGitRevision = \"${revision}\";
inline constexpr bool kBuildIsDirty = ${dirty};
inline constexpr const char* kBuildCompiler = \"${COMPILER}\";
inline constexpr const char* kBuildType = \"${TYPE}\";
inline constexpr const char* kBuildFlags = \"${FLAGS}\";

}  // namespace nanobench::results
")
set(old "")
if(EXISTS "${OUTPUT}")
  file(READ "${OUTPUT}" old)
endif()
if(NOT old STREQUAL text)
  file(WRITE "${OUTPUT}" "${text}")
endif()
