# Files of engine/kernels/vector are compiled for instructions that not every processor has. If such a file shares a
# function with the rest of the program (an inline function or template of a header), the linker may keep this copy for
# all callers, and the program then crashes on an older processor. So each path may share only what is in its own
# namespace.
#   cmake -DNM=nm -DLIBRARY=libx.a -DPATH_NAME=avx512 -P vector_symbols.cmake
execute_process(COMMAND "${NM}" -C --defined-only "${LIBRARY}" OUTPUT_VARIABLE symbols RESULT_VARIABLE code)
if(NOT code EQUAL 0)
  message(FATAL_ERROR "${NM} cannot read ${LIBRARY}")
endif()
string(REGEX MATCHALL "[^\n]* [WVu] [^\n]*" shared "${symbols}")
string(REGEX MATCHALL "nanobench::core::${PATH_NAME}::" own "${symbols}")
if(NOT own)
  message(FATAL_ERROR "${LIBRARY} defines nothing of ${PATH_NAME}: is this the right library?")
endif()
foreach(symbol IN LISTS shared)
  if(NOT symbol MATCHES "nanobench::core::${PATH_NAME}::|DW[.]ref")
    message(SEND_ERROR "${PATH_NAME} shares with the rest of the program: ${symbol}")
  endif()
endforeach()
