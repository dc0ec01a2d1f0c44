# LibTorchCpu::LibTorchCpu: headers, libtorch_cpu.so and libc10.so of LibTorch, and nothing that needs a GPU.
#
# Searched in NANOBENCH_TORCH (CMake or environment), CMAKE_PREFIX_PATH, then .deps/torch of this checkout. A root is a
# folder with include/ and lib/: an unpacked LibTorch, or site-packages/torch of an installed wheel.
#
# The CUDA build's libtorch_cpu.so needs libcudart.so.13 and libcupti.so.13. They are searched beside the root (where
# the nvidia wheels install them), and their folders are added to the run path.
set(_named_root ${NANOBENCH_TORCH} $ENV{NANOBENCH_TORCH})
if(_named_root)
  set(_roots ${_named_root}) # a LibTorch that is named is used or causes an error; never silently another
else()
  string(REPLACE ":" ";" _environment_roots "$ENV{CMAKE_PREFIX_PATH}")
  set(_roots ${CMAKE_PREFIX_PATH} ${_environment_roots} "${PROJECT_SOURCE_DIR}/.deps/torch")
endif()
unset(_root)
foreach(candidate IN LISTS _roots)
  foreach(place IN ITEMS "${candidate}" "${candidate}/torch" "${candidate}/libtorch")
    if(NOT _root AND EXISTS "${place}/include/ATen/ATen.h" AND EXISTS "${place}/lib/libtorch_cpu.so")
      set(_root "${place}")
    endif()
  endforeach()
endforeach()

if(_root)
  set(LibTorchCpu_ROOT_FOLDER "${_root}")
  set(_version "")
  if(EXISTS "${_root}/include/torch/headeronly/version.h")
    set(_version_file "${_root}/include/torch/headeronly/version.h")
  else()
    set(_version_file "${_root}/include/torch/version.h")
  endif()
  if(EXISTS "${_version_file}")
    foreach(part MAJOR MINOR PATCH)
      file(STRINGS "${_version_file}" _line REGEX "#define TORCH_VERSION_${part} ")
      string(REGEX MATCH "[0-9]+" _number "${_line}")
      list(APPEND _version "${_number}")
    endforeach()
    string(REPLACE ";" "." _version "${_version}")
  endif()
  set(LibTorchCpu_VERSION "${_version}")
  file(GLOB _gpu_runtime_folders
    "${_root}/../nvidia/cu*/lib" "${_root}/../nvidia/cuda_runtime/lib" "${_root}/../nvidia/cuda_cupti/lib")
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(LibTorchCpu
  REQUIRED_VARS LibTorchCpu_ROOT_FOLDER
  VERSION_VAR LibTorchCpu_VERSION
  REASON_FAILURE_MESSAGE "run ./nanobench setup, or name a LibTorch with -DNANOBENCH_TORCH=/path/to/libtorch")

if(LibTorchCpu_FOUND AND NOT TARGET LibTorchCpu::LibTorchCpu)
  add_library(LibTorchCpu::LibTorchCpu INTERFACE IMPORTED)
  target_include_directories(LibTorchCpu::LibTorchCpu SYSTEM INTERFACE
    "${_root}/include" "${_root}/include/torch/csrc/api/include")
  target_compile_definitions(LibTorchCpu::LibTorchCpu INTERFACE _GLIBCXX_USE_CXX11_ABI=1)
  target_link_libraries(LibTorchCpu::LibTorchCpu INTERFACE "${_root}/lib/libtorch_cpu.so" "${_root}/lib/libc10.so")
  target_link_options(LibTorchCpu::LibTorchCpu INTERFACE -Wl,--allow-shlib-undefined)
  set(_run_path "${_root}/lib" ${_gpu_runtime_folders})
  foreach(folder IN LISTS _gpu_runtime_folders)
    target_link_options(LibTorchCpu::LibTorchCpu INTERFACE "-Wl,-rpath-link,${folder}")
  endforeach()
  # DT_RPATH, not DT_RUNPATH: libtorch_cpu.so finds libcudart and libcupti through the program's own path.
  target_link_options(LibTorchCpu::LibTorchCpu INTERFACE -Wl,--disable-new-dtags)
  foreach(folder IN LISTS _run_path)
    target_link_options(LibTorchCpu::LibTorchCpu INTERFACE "-Wl,-rpath,${folder}")
  endforeach()
endif()
