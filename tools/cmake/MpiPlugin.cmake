# libnanobench_mpi.so, beside nanobench-train, which loads it when started by mpirun (engine/distributed/mpi_plugin.h).
# Without MPI it is not built, and the processes of a run communicate through shared memory or TCP.
set(NB_MPI AUTO CACHE STRING "Build libnanobench_mpi.so: ON, OFF, or AUTO (where MPI is found)")
set_property(CACHE NB_MPI PROPERTY STRINGS AUTO ON OFF)
if(NB_MPI STREQUAL "OFF")
  return()
endif()
set(MPI_CXX_SKIP_MPICXX ON) # only the C interface
find_package(MPI QUIET COMPONENTS CXX)
if(NOT MPI_CXX_FOUND)
  if(NB_MPI STREQUAL "ON")
    message(FATAL_ERROR "NB_MPI=ON, but there is no MPI; install one (Debian: libopenmpi-dev) or say NB_MPI=AUTO")
  endif()
  message(STATUS "MPI: not found, no libnanobench_mpi.so")
  return()
endif()
message(STATUS "MPI: ${MPI_CXX_VERSION}, libnanobench_mpi.so is built")

add_library(nanobench_mpi SHARED "${CMAKE_CURRENT_SOURCE_DIR}/distributed/mpi/mpi_world.cpp")
target_link_libraries(nanobench_mpi PRIVATE nanobench_options nanobench_base MPI::MPI_CXX)
target_compile_options(nanobench_mpi PRIVATE -Wno-cast-function-type)
set_target_properties(nanobench_mpi PROPERTIES
  LIBRARY_OUTPUT_DIRECTORY "${CMAKE_RUNTIME_OUTPUT_DIRECTORY}" CXX_VISIBILITY_PRESET hidden)
add_dependencies(nanobench-train nanobench_mpi)
