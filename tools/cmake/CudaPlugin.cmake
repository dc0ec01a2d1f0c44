# libnanobench_cuda.so, beside nanobench-train, which loads it when a run asks for a GPU (engine/train/cuda_plugin.h).
# Built if nvcc and LibTorch's CUDA part are present; NB_CUDA (tools/cmake/CudaKernels.cmake) decides what happens
# otherwise.
set(_missing "")
if(NANOBENCH_HAS_NVCC)
  get_filename_component(_toolkit_bin "${CMAKE_CUDA_COMPILER}" DIRECTORY)
  find_path(NB_NCCL_INCLUDE nccl.h HINTS "${_toolkit_bin}/../include" "${LibTorchCpu_ROOT_FOLDER}/../nvidia/nccl/include")
  set(_library_hints "${_toolkit_bin}/../lib64" "${_toolkit_bin}/../lib" "${LibTorchCpu_ROOT_FOLDER}/../nvidia/nccl/lib"
    "${LibTorchCpu_ROOT_FOLDER}/../nvidia/cu13/lib")
  find_library(NB_NCCL_LIBRARY NAMES libnccl.so.2 nccl HINTS ${_library_hints})
  find_library(NB_CUDART_LIBRARY NAMES libcudart.so.13 cudart HINTS ${_library_hints})
  if(NOT EXISTS "${LibTorchCpu_ROOT_FOLDER}/lib/libtorch_cuda.so" OR NOT EXISTS "${LibTorchCpu_ROOT_FOLDER}/lib/libc10_cuda.so")
    set(_missing "libtorch_cuda.so in ${LibTorchCpu_ROOT_FOLDER}/lib")
  elseif(NOT NB_CUDA_INCLUDE OR NOT NB_CUDART_LIBRARY)
    set(_missing "the CUDA runtime's headers and libcudart.so.13")
  elseif(NOT NB_NCCL_INCLUDE OR NOT NB_NCCL_LIBRARY)
    set(_missing "NCCL (nccl.h, libnccl.so.2)")
  endif()
else()
  set(_missing "nvcc")
endif()
if(_missing)
  if(NB_CUDA STREQUAL "ON")
    message(FATAL_ERROR "NB_CUDA=ON, but the GPU plugin needs ${_missing}; install that or say NB_CUDA=AUTO")
  endif()
  message(STATUS "GPU plugin: not built, without ${_missing}")
  return()
endif()
message(STATUS "GPU plugin: libnanobench_cuda.so is built")

file(GLOB _plugin_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/engine/cuda_plugin/*.cpp")
# The plugin's own copy of the engine code that it calls.
add_library(nanobench_cuda SHARED ${_plugin_sources} "${PROJECT_SOURCE_DIR}/engine/distributed/communicator.cpp")
target_include_directories(nanobench_cuda SYSTEM PRIVATE "${NB_CUDA_INCLUDE}" "${NB_NCCL_INCLUDE}")
# torch_cuda is needed for what it registers on loading, even if none of its symbols is used.
target_link_libraries(nanobench_cuda PRIVATE nanobench_options nanobench_base nanobench_cuda_kernels LibTorchCpu::LibTorchCpu
  -Wl,--no-as-needed "${LibTorchCpu_ROOT_FOLDER}/lib/libtorch_cuda.so" "${LibTorchCpu_ROOT_FOLDER}/lib/libc10_cuda.so" -Wl,--as-needed
  "${NB_NCCL_LIBRARY}" "${NB_CUDART_LIBRARY}")
get_filename_component(_toolkit_lib "${NB_CUDART_LIBRARY}" DIRECTORY)
get_filename_component(_nccl_lib "${NB_NCCL_LIBRARY}" DIRECTORY)
target_link_options(nanobench_cuda PRIVATE -Wl,--disable-new-dtags "-Wl,-rpath,${_toolkit_lib}" "-Wl,-rpath,${_nccl_lib}")
# Compiled as one source, because LibTorch's headers would be parsed again for each: position-independent code cannot
# use the engine's precompiled header.
set_target_properties(nanobench_cuda PROPERTIES
  UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 0
  LIBRARY_OUTPUT_DIRECTORY "${CMAKE_RUNTIME_OUTPUT_DIRECTORY}" CXX_VISIBILITY_PRESET hidden LINKER_LANGUAGE CXX)
