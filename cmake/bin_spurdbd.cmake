# The only program that loads libpq.
add_executable(spurdbd ${CMAKE_SOURCE_DIR}/src/main/spurdbd.cc ${CMAKE_SOURCE_DIR}/src/main/daemon_options.cc ${CMAKE_SOURCE_DIR}/src/main/dbd_options.cc
  ${CMAKE_SOURCE_DIR}/src/main/daemon_start.cc)
target_include_directories(spurdbd PRIVATE ${CMAKE_SOURCE_DIR}/src)
target_link_libraries(spurdbd PRIVATE spur_warnings spur_acct spur_config spur_os)
# Slurm's name is a link to the file itself: who looks for daemons by /proc/PID/exe finds it.
add_custom_command(TARGET spurdbd POST_BUILD COMMAND ln -f spurdbd slurmdbd WORKING_DIRECTORY ${CMAKE_RUNTIME_OUTPUT_DIRECTORY})
