# nanobench_embed_files(TARGET HEADER "path.h" NAMESPACE ns FOLDERS folder...): the *.json of the folders (of this
# source folder) as constant data in TARGET. HEADER, generated in the build folder, declares embedded_files() in the
# namespace. The next build notices files that are added, changed or removed.
#
# This file is also the script that writes the source: cmake -DOUTPUT= -DROOT= -DHEADER= -DNAMESPACE= -DFILES= -P it.
if(CMAKE_SCRIPT_MODE_FILE)
  cmake_minimum_required(VERSION 3.22)
  set(entries "")
  foreach(path IN LISTS FILES)
    file(READ "${ROOT}/${path}" text)
    # Split into pieces, because compilers limit the length of a literal.
    set(pieces "")
    string(LENGTH "${text}" length)
    set(start 0)
    while(start LESS length)
      string(SUBSTRING "${text}" ${start} 8000 piece)
      string(APPEND pieces "\n     R\"nb_json(${piece})nb_json\"")
      math(EXPR start "${start} + 8000")
    endwhile()
    string(APPEND entries "    {\"${path}\",${pieces}},\n")
  endforeach()
  string(CONCAT source "// Generated from the JSON files of ${ROOT_NAME}/; do not edit.\n"
    "#include \"${HEADER}\"\n\nnamespace ${NAMESPACE} {\nnamespace {\n\n"
    "constexpr core::EmbeddedFile kFiles[] = {\n${entries}};\n\n}  // namespace\n\n"
    "std::span<const core::EmbeddedFile> embedded_files() {\n  return kFiles;\n}\n\n}  // namespace ${NAMESPACE}\n")
  file(WRITE "${OUTPUT}" "${source}")
  return()
endif()

include_guard(GLOBAL)
set(_nanobench_embed_script "${CMAKE_CURRENT_LIST_FILE}" CACHE INTERNAL "")

function(nanobench_embed_files target)
  cmake_parse_arguments(arg "" "HEADER;NAMESPACE" "FOLDERS" ${ARGN})
  set(files)
  foreach(folder IN LISTS arg_FOLDERS)
    file(GLOB found RELATIVE "${CMAKE_CURRENT_SOURCE_DIR}" CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/${folder}/*.json")
    list(APPEND files ${found})
  endforeach()
  list(SORT files)
  if(NOT files)
    message(FATAL_ERROR "nothing to embed: no *.json in ${arg_FOLDERS} of ${CMAKE_CURRENT_SOURCE_DIR}")
  endif()
  set(output "${CMAKE_CURRENT_BINARY_DIR}/${target}_embedded_files.cpp")
  list(TRANSFORM files PREPEND "${CMAKE_CURRENT_SOURCE_DIR}/" OUTPUT_VARIABLE absolute_files)
  get_filename_component(root_name "${CMAKE_CURRENT_SOURCE_DIR}" NAME)
  # The list of names is also an input, because removing a file changes it. Written only if it differs.
  set(list_file "${CMAKE_CURRENT_BINARY_DIR}/${target}_embedded_files.txt")
  file(GENERATE OUTPUT "${list_file}" CONTENT "${files}\n")
  add_custom_command(OUTPUT "${output}"
    COMMAND "${CMAKE_COMMAND}" "-DOUTPUT=${output}" "-DROOT=${CMAKE_CURRENT_SOURCE_DIR}" "-DROOT_NAME=${root_name}"
            "-DHEADER=${arg_HEADER}" "-DNAMESPACE=${arg_NAMESPACE}" "-DFILES=${files}" -P "${_nanobench_embed_script}"
    DEPENDS ${absolute_files} "${list_file}" "${_nanobench_embed_script}"
    COMMENT "Embedding ${root_name}/*.json" VERBATIM)
  target_sources(${target} PRIVATE "${output}")
  file(CONFIGURE OUTPUT "${PROJECT_BINARY_DIR}/generated/${arg_HEADER}" @ONLY CONTENT
"/// The JSON files of ${root_name}/ as compiled into the program. Generated; do not edit.
#pragma once

#include <span>

#include \"core/base/embedded_file.h\"

namespace ${arg_NAMESPACE} {

/// In order of path, relative to ${root_name}/. Thread-safe: constant data.
std::span<const core::EmbeddedFile> embedded_files();

}  // namespace ${arg_NAMESPACE}
")
endfunction()
