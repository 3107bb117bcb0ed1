add_executable(spurctld ${CMAKE_SOURCE_DIR}/src/main/spurctld.cc ${CMAKE_SOURCE_DIR}/src/main/daemon_options.cc
  ${CMAKE_SOURCE_DIR}/src/main/daemon_start.cc ${CMAKE_SOURCE_DIR}/src/main/controller_group.cc
  ${CMAKE_SOURCE_DIR}/src/main/controller_group_members.cc ${CMAKE_SOURCE_DIR}/src/main/convert_state.cc
  ${CMAKE_SOURCE_DIR}/src/main/controller_files.cc ${CMAKE_SOURCE_DIR}/src/main/accounts_update.cc
  ${CMAKE_SOURCE_DIR}/src/main/scheduler_log.cc)
target_include_directories(spurctld PRIVATE ${CMAKE_SOURCE_DIR}/src)
target_link_libraries(spurctld PRIVATE spur_warnings spur_ctld spur_config spur_os)
# Slurm's name is a link to the file itself: who looks for daemons by /proc/PID/exe finds it.
add_custom_command(TARGET spurctld POST_BUILD COMMAND ln -f spurctld slurmctld WORKING_DIRECTORY ${CMAKE_RUNTIME_OUTPUT_DIRECTORY})
