# Run at every build: writes OUT with the revision of SOURCE and the build settings; touches the file only if they
# changed.
cmake_minimum_required(VERSION 3.22)
find_program(GIT git)
set(revision unknown)
set(is_dirty false)
if(GIT AND EXISTS "${SOURCE}/.git")
  execute_process(COMMAND "${GIT}" -C "${SOURCE}" rev-parse HEAD OUTPUT_VARIABLE head OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
  if(NOT failed)
    set(revision "${head}")
    execute_process(COMMAND "${GIT}" -C "${SOURCE}" status --porcelain --untracked-files=no OUTPUT_VARIABLE changes ERROR_QUIET)
    if(changes)
      set(is_dirty true)
    endif()
  endif()
endif()
file(CONFIGURE OUTPUT "${OUT}" CONTENT "#pragma once
#define NB_BUILD_VERSION \"@VERSION@\"
#define NB_BUILD_GIT_REVISION \"@revision@\"
#define NB_BUILD_IS_DIRTY @is_dirty@
#define NB_BUILD_COMPILER \"@COMPILER@\"
#define NB_BUILD_TYPE \"@TYPE@\"
" @ONLY)
