# The targets `programs` (what a user runs, without the tests), `programs_with_gpu` and `bundle_programs`, what `cmake --install BUILD --prefix PREFIX` copies,
# and the Debian package.
#
# An installed nanobench-train keeps the run path to the LibTorch it was linked with (a linker option of
# LibTorchCpu::LibTorchCpu, which CMake leaves alone): LibTorch is 500 MB and stays where it is.
include(GNUInstallDirs)

add_custom_target(programs)
foreach(program IN ITEMS nanobench nanobench-train)
  if(TARGET ${program})
    add_dependencies(programs ${program})
    install(TARGETS ${program} RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
  endif()
endforeach()
# Beside nanobench-train, which searches for them there.
add_custom_target(programs_with_gpu DEPENDS programs)
if(TARGET nanobench_mpi)
  add_dependencies(programs nanobench_mpi)
  install(TARGETS nanobench_mpi LIBRARY DESTINATION "${CMAKE_INSTALL_BINDIR}")
endif()
if(TARGET nanobench_cuda)
  add_dependencies(programs_with_gpu nanobench_cuda)
  install(TARGETS nanobench_cuda LIBRARY DESTINATION "${CMAKE_INSTALL_BINDIR}" OPTIONAL)
endif()
# Not among the programs, because the first use would wait for them. Installed if they have been built.
foreach(program IN ITEMS nanobench-micro nanobench-gpu-tests nanobench-gpu-bench)
  if(TARGET ${program})
    install(TARGETS ${program} RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}" OPTIONAL)
  endif()
endforeach()

# What tools/bundle/make_bundle.py packs, as far as it can be built here.
add_custom_target(bundle_programs DEPENDS programs_with_gpu)
foreach(program IN ITEMS nanobench-micro nanobench-gpu-tests nanobench-gpu-bench)
  if(TARGET ${program})
    add_dependencies(bundle_programs ${program})
  endif()
endforeach()

file(GLOB suite_files CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/suites/*.json")
install(FILES ${suite_files} DESTINATION "${CMAKE_INSTALL_DATADIR}/nanobench/suites")
file(GLOB documents CONFIGURE_DEPENDS
  "${PROJECT_SOURCE_DIR}/README.md" "${PROJECT_SOURCE_DIR}/CHANGELOG.md" "${PROJECT_SOURCE_DIR}/LICENSE")
install(FILES ${documents} DESTINATION "${CMAKE_INSTALL_DOCDIR}")

# `cpack -G DEB` in the build folder makes a Debian package (docs/package.md); deb.cmake says of what.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_CONTACT "The nanobench authors")
set(CPACK_PACKAGE_DESCRIPTION
  "Trains small GPTs with and without each documented change of the speedrun,
measures loss and time, and says which changes pay on this machine. LibTorch
(520 MB) is downloaded at the first training unless it is here already.")
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_PROJECT_CONFIG_FILE "${PROJECT_SOURCE_DIR}/tools/package/debian/deb.cmake")
set(CPACK_NANOBENCH_SOURCE "${PROJECT_SOURCE_DIR}")
set(CPACK_NANOBENCH_BUILD "${PROJECT_BINARY_DIR}")
include(CPack)
