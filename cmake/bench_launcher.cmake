add_executable(launcher_bench EXCLUDE_FROM_ALL ${CMAKE_SOURCE_DIR}/bench/launcher_bench.cc)
target_link_libraries(launcher_bench PRIVATE spur_os spur_warnings)
add_dependencies(launcher_bench spurstepd)
