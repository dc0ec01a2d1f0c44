# Whether CUDA kernels are compiled, and how. NB_CUDA: AUTO compiles them if nvcc is found, and reports it; ON requires
# them; OFF leaves them out. Sets NANOBENCH_HAS_NVCC.
include_guard(GLOBAL)
include(CheckLanguage)

set(NB_CUDA AUTO CACHE STRING "Compile the CUDA kernels: AUTO (where nvcc is found), ON or OFF")
set_property(CACHE NB_CUDA PROPERTY STRINGS AUTO ON OFF)

if(NOT NB_CUDA MATCHES "^(AUTO|ON|OFF)$")
  message(FATAL_ERROR "NB_CUDA=${NB_CUDA}: expected AUTO, ON or OFF.")
endif()

set(NANOBENCH_HAS_NVCC FALSE)
if(NB_CUDA)
  # CMake searches only the PATH for nvcc; a toolkit is usually here without being on it.
  if(NOT CMAKE_CUDA_COMPILER AND NOT DEFINED ENV{CUDACXX})
    find_program(NB_NVCC nvcc HINTS ENV CUDA_HOME ENV CUDA_PATH PATHS /usr/local/cuda PATH_SUFFIXES bin)
    if(NB_NVCC)
      set(CMAKE_CUDA_COMPILER "${NB_NVCC}")
    endif()
  endif()
  if(NOT CMAKE_CUDA_ARCHITECTURES)
    set(CMAKE_CUDA_ARCHITECTURES 80)  # for CMake's own trial; ours are passed to nvcc below
  endif()
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    enable_language(CUDA)
    set(NANOBENCH_HAS_NVCC TRUE)
    message(STATUS "CUDA kernels: compiled with nvcc ${CMAKE_CUDA_COMPILER_VERSION}")
    # For programs that bring their own CUDA runtime.
    get_filename_component(_toolkit_bin "${CMAKE_CUDA_COMPILER}" DIRECTORY)
    find_path(NB_CUDA_INCLUDE cuda_runtime_api.h HINTS "${_toolkit_bin}/../include" ${CMAKE_CUDA_TOOLKIT_INCLUDE_DIRECTORIES})
    find_library(NB_CUDART_STATIC_LIBRARY NAMES libcudart_static.a
      HINTS "${_toolkit_bin}/../lib64" "${_toolkit_bin}/../lib" ${CMAKE_CUDA_IMPLICIT_LINK_DIRECTORIES})
  elseif(NB_CUDA STREQUAL "AUTO")
    message(STATUS "CUDA kernels: left out, no nvcc found")
  else()
    message(FATAL_ERROR "NB_CUDA=ON needs nvcc: put it on the PATH or name it with -DCMAKE_CUDA_COMPILER=FILE, or choose NB_CUDA=AUTO.")
  endif()
endif()

# nanobench_cuda_library(NAME source...): a static, position-independent library. It contains no CUDA runtime: the
# program that links it chooses one, because a process that also loads LibTorch must share LibTorch's.
function(nanobench_cuda_library name)
  add_library(${name} STATIC ${ARGN})
  target_include_directories(${name} PRIVATE "${PROJECT_SOURCE_DIR}")
  target_link_libraries(${name} INTERFACE nanobench_base)
  set_target_properties(${name} PROPERTIES
    POSITION_INDEPENDENT_CODE ON CUDA_RUNTIME_LIBRARY None CUDA_ARCHITECTURES OFF)
  target_compile_options(${name} PRIVATE
    -std=c++20  # as an option: CMake 3.25 does not know that nvcc has it
    -lineinfo
    --compress-mode=size  # an eighth of the bytes; drivers for CUDA 13 read it
    "SHELL:-gencode arch=compute_80,code=sm_80"
    "SHELL:-gencode arch=compute_90a,code=sm_90a"
    "SHELL:-gencode arch=compute_100,code=sm_100"
    "SHELL:-gencode arch=compute_80,code=compute_80"  # for every other GPU, compiled by its driver
    $<$<BOOL:${NANOBENCH_WERROR}>:-Werror=all-warnings>
    -Xcompiler=-Wall,-Wextra)
endfunction()
