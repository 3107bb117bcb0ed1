# One small main per program; see src/main/README.md.
function(spur_binary name source)
  if(EXISTS ${CMAKE_SOURCE_DIR}/src/main/${source})
    add_executable(${name} ${CMAKE_SOURCE_DIR}/src/main/${source})
    target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR}/src)
    target_link_libraries(${name} PRIVATE spur_warnings ${ARGN})
  endif()
endfunction()
