# One small main per program; each has its own file cmake/bin_<name>.cmake beside this one.
function(spur_binary name source)
  add_executable(${name} ${CMAKE_SOURCE_DIR}/src/main/${source})
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR}/src)
  target_link_libraries(${name} PRIVATE spur_warnings ${ARGN})
endfunction()

file(GLOB bins CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/bin_*.cmake)
foreach(bin IN LISTS bins)
  include(${bin})
endforeach()

# What a cluster runs; `make quickstart` builds nothing else.
add_custom_target(programs DEPENDS spur spurctld spurd spurdbd spurstepd spurcontainer spurpmix)
