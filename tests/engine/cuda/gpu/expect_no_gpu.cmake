# PROGRAM, which sees no GPU, reports this in one sentence and exits with 77.
set(ENV{CUDA_VISIBLE_DEVICES} -1)
execute_process(COMMAND "${PROGRAM}" RESULT_VARIABLE code OUTPUT_VARIABLE output ERROR_VARIABLE errors)
# The loader's messages about the empty libraries that stand in for absent ones.
string(REGEX REPLACE "[^\n]*no version information available[^\n]*\n" "" errors "${errors}")
if(NOT code STREQUAL "77" OR NOT output STREQUAL "" OR NOT errors MATCHES "^nanobench-gpu-[a-z]+: no GPU can be used: [^\n]+\n$")
  message(FATAL_ERROR "expected exit code 77 and one sentence; got ${code}, output '${output}', errors '${errors}'")
endif()
