# nanobench_embed_files(TARGET HEADER "path.h" NAMESPACE ns [ROOT folder] [FOLDERS folder...] [PATTERNS pattern...]): the
# *.json of the folders, and the files that match the patterns, as constant data in TARGET. Both are relative to ROOT
# (default: this source folder). HEADER, generated in the build folder, declares embedded_files() in the namespace. The
# next build notices files that are added, changed or removed.
#
# This file is also the script that writes the source: cmake -DOUTPUT= -DROOT= -DHEADER= -DNAMESPACE= -DFILES= -P it.
if(CMAKE_SCRIPT_MODE_FILE)
  cmake_minimum_required(VERSION 3.22)
  set(entries "")
  foreach(path IN LISTS FILES)
    file(READ "${ROOT}/${path}" text)
    # Split into pieces at ends of lines, because compilers limit the length of a literal.
    set(pieces "")
    string(LENGTH "${text}" length)
    set(start 0)
    while(start LESS length)
      string(SUBSTRING "${text}" ${start} 8000 piece)
      string(FIND "${piece}" "\n" end REVERSE)
      math(EXPR next "${start} + 8000")
      if(next LESS length AND end GREATER 0)
        math(EXPR end "${end} + 1")
        string(SUBSTRING "${text}" ${start} ${end} piece)
        math(EXPR next "${start} + ${end}")
      endif()
      string(APPEND pieces "\n     R\"nb_text(${piece})nb_text\"")
      set(start ${next})
    endwhile()
    if(pieces)
      string(APPEND pieces "sv") # a length that the compiler knows: clang counts characters only up to a limit
    endif()
    string(APPEND entries "    {\"${path}\"sv,${pieces}},\n")
  endforeach()
  string(CONCAT source "// Generated from files of ${ROOT_NAME}/; do not edit.\n"
    "#include \"${HEADER}\"\n\nnamespace ${NAMESPACE} {\nnamespace {\n\nusing namespace std::string_view_literals;\n\n"
    "constexpr core::EmbeddedFile kFiles[] = {\n${entries}};\n\n}  // namespace\n\n"
    "std::span<const core::EmbeddedFile> embedded_files() {\n  return kFiles;\n}\n\n}  // namespace ${NAMESPACE}\n")
  file(WRITE "${OUTPUT}" "${source}")
  return()
endif()

include_guard(GLOBAL)
set(_nanobench_embed_script "${CMAKE_CURRENT_LIST_FILE}" CACHE INTERNAL "")

function(nanobench_embed_files target)
  cmake_parse_arguments(arg "" "HEADER;NAMESPACE;ROOT" "FOLDERS;PATTERNS" ${ARGN})
  if(NOT arg_ROOT)
    set(arg_ROOT "${CMAKE_CURRENT_SOURCE_DIR}")
  endif()
  list(TRANSFORM arg_FOLDERS APPEND "/*.json")
  set(files)
  foreach(pattern IN LISTS arg_FOLDERS arg_PATTERNS)
    file(GLOB found RELATIVE "${arg_ROOT}" CONFIGURE_DEPENDS "${arg_ROOT}/${pattern}")
    list(APPEND files ${found})
  endforeach()
  list(SORT files)
  if(NOT files)
    message(FATAL_ERROR "nothing to embed: no ${arg_FOLDERS} ${arg_PATTERNS} in ${arg_ROOT}")
  endif()
  set(output "${CMAKE_CURRENT_BINARY_DIR}/${target}_embedded_files.cpp")
  list(TRANSFORM files PREPEND "${arg_ROOT}/" OUTPUT_VARIABLE absolute_files)
  file(RELATIVE_PATH root_name "${PROJECT_SOURCE_DIR}" "${arg_ROOT}")
  if(root_name STREQUAL "")
    set(root_name "${PROJECT_NAME}")
  endif()
  # The list of names is also an input, because removing a file changes it. Written only if it differs.
  set(list_file "${CMAKE_CURRENT_BINARY_DIR}/${target}_embedded_files.txt")
  file(GENERATE OUTPUT "${list_file}" CONTENT "${files}\n")
  add_custom_command(OUTPUT "${output}"
    COMMAND "${CMAKE_COMMAND}" "-DOUTPUT=${output}" "-DROOT=${arg_ROOT}" "-DROOT_NAME=${root_name}"
            "-DHEADER=${arg_HEADER}" "-DNAMESPACE=${arg_NAMESPACE}" "-DFILES=${files}" -P "${_nanobench_embed_script}"
    DEPENDS ${absolute_files} "${list_file}" "${_nanobench_embed_script}"
    COMMENT "Embedding files of ${root_name}/" VERBATIM)
  target_sources(${target} PRIVATE "${output}")
  file(CONFIGURE OUTPUT "${PROJECT_BINARY_DIR}/generated/${arg_HEADER}" @ONLY CONTENT
"/// Files of ${root_name}/ as compiled into the program. Generated; do not edit.
#pragma once

#include <span>

#include \"core/base/embedded_file.h\"

namespace ${arg_NAMESPACE} {

/// In order of path, relative to ${root_name}/. Thread-safe: constant data.
std::span<const core::EmbeddedFile> embedded_files();

}  // namespace ${arg_NAMESPACE}
")
endfunction()
