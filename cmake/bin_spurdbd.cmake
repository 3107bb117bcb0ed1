# The only program that loads libpq.
add_executable(spurdbd ${CMAKE_SOURCE_DIR}/src/main/spurdbd.cc ${CMAKE_SOURCE_DIR}/src/main/daemon_options.cc
  ${CMAKE_SOURCE_DIR}/src/main/daemon_start.cc)
target_include_directories(spurdbd PRIVATE ${CMAKE_SOURCE_DIR}/src)
target_link_libraries(spurdbd PRIVATE spur_warnings spur_acct spur_config spur_os)
add_custom_command(TARGET spurdbd POST_BUILD
  COMMAND ${CMAKE_COMMAND} -E create_symlink spurdbd ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/slurmdbd)
