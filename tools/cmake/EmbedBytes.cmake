# nanobench_embed_bytes(TARGET HEADER "path.h" NAMESPACE ns FILES name=path...): each file byte for byte in TARGET, with its
# sha256. HEADER declares `EmbeddedBytes NAME();` for each name in the namespace. A path may be empty: no bytes.
#
# This file is also the script that writes the source: cmake -DOUTPUT= -DHEADER= -DNAMESPACE= -DFILES= -P it.
if(CMAKE_SCRIPT_MODE_FILE)
  cmake_minimum_required(VERSION 3.22)
  set(blocks "")
  set(functions "")
  foreach(entry IN LISTS FILES)
    string(REGEX MATCH "^([a-z_]+)=(.*)$" found "${entry}")
    set(name "${CMAKE_MATCH_1}")
    set(path "${CMAKE_MATCH_2}")
    if(path)
      file(SHA256 "${path}" digest)
      # The assembler includes the file; a compiler would need a minute for a literal of this size.
      string(APPEND blocks "asm(R\"(\n.section .rodata\n.balign 16\nnanobench_${name}_begin:\n.incbin \"${path}\"\n"
        "nanobench_${name}_end:\n.byte 0\n.previous\n)\");\n"
        "extern \"C\" {\n[[gnu::visibility(\"hidden\")]] extern const char nanobench_${name}_begin[];\n"
        "[[gnu::visibility(\"hidden\")]] extern const char nanobench_${name}_end[];\n}\n\n")
      string(APPEND functions "EmbeddedBytes ${name}() {\n  return {{nanobench_${name}_begin, nanobench_${name}_end},\n"
        "          \"${digest}\"};\n}\n\n")
    else()
      string(APPEND functions "EmbeddedBytes ${name}() {\n  return {};\n}\n\n")
    endif()
  endforeach()
  file(WRITE "${OUTPUT}" "// Generated; do not edit.\n#include \"${HEADER}\"\n\n${blocks}namespace ${NAMESPACE} {\n\n"
    "${functions}}  // namespace ${NAMESPACE}\n")
  return()
endif()

include_guard(GLOBAL)
set(_nanobench_embed_bytes_script "${CMAKE_CURRENT_LIST_FILE}" CACHE INTERNAL "")

function(nanobench_embed_bytes target)
  cmake_parse_arguments(arg "" "HEADER;NAMESPACE" "FILES" ${ARGN})
  set(paths ${arg_FILES})
  list(TRANSFORM paths REPLACE "^[a-z_]+=" "")
  list(FILTER paths EXCLUDE REGEX "^$")
  set(output "${CMAKE_CURRENT_BINARY_DIR}/${target}_embedded_bytes.cpp")
  set(list_file "${CMAKE_CURRENT_BINARY_DIR}/${target}_embedded_bytes.txt")
  file(GENERATE OUTPUT "${list_file}" CONTENT "${arg_FILES}\n")
  add_custom_command(OUTPUT "${output}"
    COMMAND "${CMAKE_COMMAND}" "-DOUTPUT=${output}" "-DHEADER=${arg_HEADER}" "-DNAMESPACE=${arg_NAMESPACE}"
            "-DFILES=${arg_FILES}" -P "${_nanobench_embed_bytes_script}"
    DEPENDS ${paths} "${list_file}" "${_nanobench_embed_bytes_script}"
    COMMENT "Embedding the page's files" VERBATIM)
  set_source_files_properties("${output}" PROPERTIES OBJECT_DEPENDS "${paths}")
  target_sources(${target} PRIVATE "${output}")
endfunction()
