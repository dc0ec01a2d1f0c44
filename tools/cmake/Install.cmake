# The target `programs` (what a user runs, without the tests), `bundle_programs`, and what `cmake --install BUILD --prefix PREFIX` copies.
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
# Beside nanobench-train, which looks for them there.
foreach(plugin IN ITEMS nanobench_mpi nanobench_cuda)
  if(TARGET ${plugin})
    add_dependencies(programs ${plugin})
    install(TARGETS ${plugin} LIBRARY DESTINATION "${CMAKE_INSTALL_BINDIR}")
  endif()
endforeach()
# Not among the programs: the first use would wait for them. Installed where they have been built.
foreach(program IN ITEMS nanobench-micro nanobench-gpu-tests nanobench-gpu-bench)
  if(TARGET ${program})
    install(TARGETS ${program} RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}" OPTIONAL)
  endif()
endforeach()

# What tools/bundle/make_bundle.py takes along, as far as it can be built here.
add_custom_target(bundle_programs DEPENDS programs)
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
