add_executable(spurd ${CMAKE_SOURCE_DIR}/src/main/spurd.cc ${CMAKE_SOURCE_DIR}/src/main/configless.cc ${CMAKE_SOURCE_DIR}/src/main/dynamic_node.cc
  ${CMAKE_SOURCE_DIR}/src/main/node_side.cc
  ${CMAKE_SOURCE_DIR}/src/main/daemon_options.cc
  ${CMAKE_SOURCE_DIR}/src/main/daemon_start.cc)
target_include_directories(spurd PRIVATE ${CMAKE_SOURCE_DIR}/src)
target_link_libraries(spurd PRIVATE spur_warnings spur_agent spur_config spur_os)
# Slurm's name is a link to the file itself: who looks for daemons by /proc/PID/exe finds it.
add_custom_command(TARGET spurd POST_BUILD COMMAND ln -f spurd slurmd WORKING_DIRECTORY ${CMAKE_RUNTIME_OUTPUT_DIRECTORY})
