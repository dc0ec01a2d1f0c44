# PROGRAM, which is shown no GPU, says so in one sentence and exits with 77.
set(ENV{CUDA_VISIBLE_DEVICES} -1)
execute_process(COMMAND "${PROGRAM}" RESULT_VARIABLE code OUTPUT_VARIABLE output ERROR_VARIABLE errors)
if(NOT code STREQUAL "77" OR NOT output STREQUAL "" OR NOT errors MATCHES "^nanobench-gpu-[a-z]+: no GPU can be used: [^\n]+\n$")
  message(FATAL_ERROR "expected exit code 77 and one sentence; got ${code}, output '${output}', errors '${errors}'")
endif()
