# Included by cpack before it makes a package: fills the root of the Debian package by stage_deb.py, and names what that needs.
# Other generators pack what `cmake --install` copies.
if(NOT CPACK_GENERATOR STREQUAL "DEB")
  return()
endif()

set(root "${CPACK_PACKAGE_DIRECTORY}/_CPack_Packages/root")
file(REMOVE_RECURSE "${root}")
execute_process(
  COMMAND python3 -B "${CPACK_NANOBENCH_SOURCE}/tools/package/stage_deb.py" --build "${CPACK_NANOBENCH_BUILD}" "${root}"
  OUTPUT_VARIABLE said ERROR_VARIABLE reason RESULT_VARIABLE code OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_STRIP_TRAILING_WHITESPACE)
if(NOT code EQUAL 0)
  message(FATAL_ERROR "${reason}")
endif()
string(REPLACE "\n" ";" said "${said}")
list(GET said 0 CPACK_DEBIAN_PACKAGE_ARCHITECTURE)
list(GET said 1 CPACK_DEBIAN_PACKAGE_DEPENDS)

# The same programs give the same bytes: file times are none of the programs' own.
if(NOT DEFINED ENV{SOURCE_DATE_EPOCH})
  set(ENV{SOURCE_DATE_EPOCH} 946684800) # 2000-01-01; Debian's checks call files from before 1984 ancient
endif()
set(CPACK_INSTALL_CMAKE_PROJECTS "")
set(CPACK_INSTALLED_DIRECTORIES "${root};/")
set(CPACK_PRE_BUILD_SCRIPTS "${CMAKE_CURRENT_LIST_DIR}/modes.cmake")
