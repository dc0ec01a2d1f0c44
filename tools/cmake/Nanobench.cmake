# How our own targets are built: one place for the language standard, warnings, sanitizers and the include root.
include_guard(GLOBAL)

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()
# -O3 takes a third more compile time; only the kernels request it.
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bin")
find_program(CCACHE ccache)
if(CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # Without these, ccache keeps nothing that is compiled with a precompiled header.
  set(CMAKE_CXX_COMPILER_LAUNCHER "${CMAKE_COMMAND}" -E env CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime "${CCACHE}")
  add_compile_options($<$<COMPILE_LANG_AND_ID:CXX,GNU>:-fpch-preprocess>)
endif()
option(NANOBENCH_JOIN_SOURCES "Compile several sources at a time: quicker in all, slower for one changed file" ON)

add_library(nanobench_options INTERFACE)
target_compile_features(nanobench_options INTERFACE cxx_std_20)
target_include_directories(nanobench_options INTERFACE "${PROJECT_SOURCE_DIR}" "${PROJECT_BINARY_DIR}/generated")
target_compile_options(nanobench_options INTERFACE -Wall -Wextra -Wconversion -Wno-missing-field-initializers $<$<BOOL:${NANOBENCH_WERROR}>:-Werror>)
# A name of another source in the group is no reason for a warning.
target_compile_options(nanobench_options INTERFACE $<IF:$<AND:$<CXX_COMPILER_ID:GNU>,$<BOOL:${NANOBENCH_JOIN_SOURCES}>>,-Wshadow=local,-Wshadow>)
# GCC 12 reports non-existent overlaps in inlined std::string operations (GCC bug 105651).
target_compile_options(nanobench_options INTERFACE $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>)
# GCC first collects garbage at half a gigabyte: a tenth less compile time for JSON's templates, 100 MB more memory.
target_compile_options(nanobench_options INTERFACE "$<$<COMPILE_LANG_AND_ID:CXX,GNU>:SHELL:--param ggc-min-heapsize=524288>")
if(NANOBENCH_SANITIZE)
  target_compile_options(nanobench_options INTERFACE -fsanitize=${NANOBENCH_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(nanobench_options INTERFACE -fsanitize=${NANOBENCH_SANITIZE})
endif()

# libFuzzer observes the branches that an input takes, in all our sources and not in the standard library's. Sections of
# their own let the linker leave out, with its counters, what no target reaches.
option(NANOBENCH_FUZZ "Build the targets of tests/fuzz for libFuzzer; needs clang" OFF)
if(NANOBENCH_FUZZ)
  target_compile_options(nanobench_options INTERFACE -fsanitize=fuzzer-no-link -ffunction-sections -fdata-sections
    "-fsanitize-coverage-ignorelist=${PROJECT_SOURCE_DIR}/tests/fuzz/not_observed.txt")
endif()

# nanobench_uninstrumented(TARGET): with the address sanitizer, the target itself is compiled without it. For tests whose
# references compute many times more than the code that they check, which stays instrumented.
function(nanobench_uninstrumented target)
  if(NANOBENCH_SANITIZE MATCHES "address")
    target_compile_options(${target} PRIVATE -fno-sanitize=all)
  endif()
endfunction()

# Headers that nearly every source of the plain libraries includes, compiled once. Libraries compiled with the same
# options may share them; with another -O the compiler crashes. This hides missing includes in headers, so
# tools/dev/check_clang.py compiles without it.
set(NANOBENCH_COMMON_HEADERS <algorithm> <cmath> <cstdint> <filesystem> <functional> <map> <memory> <optional> <set> <string>
  <string_view> <utility> <variant> <vector> <nlohmann/json.hpp>)

# nanobench_join_sources(TARGET BYTES source...): compiles sources of one folder together, about BYTES of text at a
# time, so that headers are parsed and templates instantiated once for several. Names without linkage must therefore be
# unique within a folder.
function(nanobench_join_sources target max_bytes)
  if(NOT NANOBENCH_JOIN_SOURCES)
    return()
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  # GCC warns about types that no other source can see, unless the main file defines them.
  target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
  set(group 0)
  set(bytes 0)
  set(last_folder "")
  foreach(source IN LISTS ARGN)
    file(SIZE "${source}" size)
    get_filename_component(folder "${source}" DIRECTORY)
    math(EXPR bytes "${bytes} + ${size}")
    if(bytes GREATER max_bytes OR NOT folder STREQUAL last_folder)
      math(EXPR group "${group} + 1")
      set(bytes ${size})
    endif()
    set(last_folder "${folder}")
    get_filename_component(name "${folder}" NAME)
    set_source_files_properties("${source}" PROPERTIES UNITY_GROUP "${name}_${group}")
  endforeach()
endfunction()

# nanobench_headers(NAME LEVEL [LINK target...] [HEADERS header...]): a library that exists only for its precompiled
# headers, NANOBENCH_COMMON_HEADERS and the given ones, compiled with -O<LEVEL> in release builds.
function(nanobench_headers name level)
  cmake_parse_arguments(arg "" "" "LINK;HEADERS" ${ARGN})
  file(CONFIGURE OUTPUT "${CMAKE_CURRENT_BINARY_DIR}/${name}.cpp" CONTENT "// Nothing: the target's headers are what is wanted.\n")
  add_library(${name} OBJECT "${CMAKE_CURRENT_BINARY_DIR}/${name}.cpp")
  target_link_libraries(${name} PRIVATE nanobench_options nlohmann_json::nlohmann_json ${arg_LINK})
  target_compile_options(${name} PRIVATE $<$<CONFIG:Release>:-O${level}>)
  target_precompile_headers(${name} PRIVATE ${NANOBENCH_COMMON_HEADERS} ${arg_HEADERS})
endfunction()

# nanobench_library(NAME [LEVEL level] [PRECOMPILED | PRECOMPILED_BY target] [JOINED BYTES] [UNFUZZED] [FOLDERS folder...]
# [LINK target...]): every .cpp directly in the folders (default: this one), compiled with NANOBENCH_COMMON_HEADERS if
# PRECOMPILED, or with those of another library; BYTES of them at a time if JOINED. LEVEL: of optimisation in release
# builds, 2 by default. What is not time-critical is compiled with `g`: GCC takes a third less time than with 2. UNFUZZED:
# no target of tests/fuzz reaches it, so beside libFuzzer only unit tests need it, and 0 takes a third of the time.
function(nanobench_library name)
  cmake_parse_arguments(arg "PRECOMPILED;UNFUZZED" "PRECOMPILED_BY;JOINED;LEVEL" "FOLDERS;LINK" ${ARGN})
  if(NANOBENCH_FUZZ AND arg_UNFUZZED)
    set(arg_LEVEL 0)
    if(arg_PRECOMPILED_BY)
      set(arg_PRECOMPILED_BY nanobench_unfuzzed_headers)
    endif()
  endif()
  if(NOT arg_FOLDERS)
    set(arg_FOLDERS .)
  endif()
  set(sources)
  foreach(folder IN LISTS arg_FOLDERS)
    file(GLOB found CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/${folder}/*.cpp")
    list(APPEND sources ${found})
  endforeach()
  add_library(${name} STATIC ${sources})
  target_link_libraries(${name} PUBLIC nanobench_options ${arg_LINK})
  if(arg_JOINED)
    nanobench_join_sources(${name} ${arg_JOINED} ${sources})
  endif()
  if(DEFINED arg_LEVEL)
    target_compile_options(${name} PRIVATE $<$<CONFIG:Release>:-O${arg_LEVEL}>)
  endif()
  if(arg_PRECOMPILED)
    target_precompile_headers(${name} PRIVATE ${NANOBENCH_COMMON_HEADERS})
  elseif(arg_PRECOMPILED_BY)
    target_precompile_headers(${name} REUSE_FROM ${arg_PRECOMPILED_BY})
  endif()
  if(arg_PRECOMPILED OR arg_PRECOMPILED_BY)
    set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE ON)
    # The same GCC bug as above: headers in a precompiled header no longer count as system headers.
    target_compile_options(${name} PRIVATE "$<$<CXX_COMPILER_ID:GNU>:-Wno-stringop-overflow;-Wno-array-bounds>")
  endif()
endfunction()

# nanobench_tests(NAME FOLDERS folder... LINK target... [LABELS label...] [OPTIMIZED | PRECOMPILED_BY target]
# [UNINSTRUMENTED] [PER_PROCESS count]): one gtest program from *_test.cpp in the folders, compiled with precompiled headers that suit plain
# tests, or with those of another target. The tested code is optimised; optimising the tests would double their compile
# time, so it is for those that compute much: OPTIMIZED, and with the headers of another target. UNINSTRUMENTED: see
# nanobench_uninstrumented. Labels: the given ones, and
# the top folder of the tree that the list file's folder mirrors. ctest starts the program for each test; with PER_PROCESS
# for that many tests of one test suite, because loading LibTorch takes longer than most tests of it.
function(nanobench_tests name)
  cmake_parse_arguments(arg "OPTIMIZED;UNINSTRUMENTED" "PRECOMPILED_BY;PER_PROCESS" "FOLDERS;LINK;LABELS" ${ARGN})
  set(sources)
  foreach(folder IN LISTS arg_FOLDERS)
    file(GLOB found CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/${folder}/*_test.cpp")
    list(APPEND sources ${found})
  endforeach()
  if(NOT sources)
    message(FATAL_ERROR "${name}: no *_test.cpp in ${arg_FOLDERS}")
  endif()
  add_executable(${name} ${sources})
  target_link_libraries(${name} PRIVATE nanobench_options ${arg_LINK} GTest::gtest GTest::gtest_main)
  if(arg_PRECOMPILED_BY)
    nanobench_join_sources(${name} 64000 ${sources})
    # With -Og, GCC 12 reports members of std::regex and of configurations as uninitialised (GCC bug 105562).
    target_compile_options(${name} PRIVATE $<$<CONFIG:Release>:-Og> $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
    target_precompile_headers(${name} REUSE_FROM ${arg_PRECOMPILED_BY})
  else()
    nanobench_join_sources(${name} 100000 ${sources})
    set(level 0)
    if(arg_OPTIMIZED AND (arg_UNINSTRUMENTED OR NOT NANOBENCH_FUZZ))
      set(level 1)
    endif()
    target_compile_options(${name} PRIVATE $<$<CONFIG:Release>:-O${level}>)
    if(arg_UNINSTRUMENTED AND NANOBENCH_SANITIZE MATCHES "address")
      nanobench_uninstrumented(${name})
    else()
      target_precompile_headers(${name} REUSE_FROM nanobench_test_headers_O${level})
    endif()
    target_compile_options(${name} PRIVATE "$<$<CXX_COMPILER_ID:GNU>:-Wno-stringop-overflow;-Wno-array-bounds>")
  endif()
  target_compile_definitions(${name} PRIVATE NANOBENCH_SOURCE_DIR="${PROJECT_SOURCE_DIR}" NANOBENCH_BIN_DIR="${CMAKE_BINARY_DIR}/bin")
  file(RELATIVE_PATH top "${PROJECT_SOURCE_DIR}/tests" "${CMAKE_CURRENT_SOURCE_DIR}")
  string(REGEX REPLACE "/.*" "" top "${top}")
  if(IS_DIRECTORY "${PROJECT_SOURCE_DIR}/${top}")
    list(APPEND arg_LABELS "${top}")
  endif()
  if(arg_PER_PROCESS)
    set(tests_file "${CMAKE_CURRENT_BINARY_DIR}/${name}_suites.cmake")
    add_custom_command(TARGET ${name} POST_BUILD VERBATIM BYPRODUCTS "${tests_file}"
      COMMAND "${CMAKE_COMMAND}" -DPROGRAM=$<TARGET_FILE:${name}> "-DLABELS=${arg_LABELS}" -DPER_PROCESS=${arg_PER_PROCESS}
        "-DOUT=${tests_file}" -P "${PROJECT_SOURCE_DIR}/tools/cmake/list_suites.cmake")
    set(include_file "${CMAKE_CURRENT_BINARY_DIR}/${name}_include.cmake")
    file(WRITE "${include_file}" "if(EXISTS \"${tests_file}\")\n  include(\"${tests_file}\")\nelse()\n  add_test(${name}_NOT_BUILT ${name}_NOT_BUILT)\nendif()\n")
  else()
    gtest_discover_tests(${name} DISCOVERY_TIMEOUT 60 TEST_LIST ${name}_list PROPERTIES TIMEOUT 600)
    # gtest_discover_tests() accepts one label per test; ctest reads this file after the tests and adds the others.
    set(include_file "${CMAKE_CURRENT_BINARY_DIR}/${name}_labels.cmake")
    file(WRITE "${include_file}" "foreach(test IN LISTS ${name}_list)\n  set_tests_properties(\"\${test}\" PROPERTIES LABELS \"${arg_LABELS}\")\nendforeach()\n")
  endif()
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES "${include_file}")
endfunction()
