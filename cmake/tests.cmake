# Tests that are not one folder's unit tests: scenarios, fuzz smoke runs, end to end.
list(APPEND SPUR_FUZZ_LIBRARIES spur_config)
foreach(part fuzz scenario e2e)
  include(${CMAKE_CURRENT_LIST_DIR}/${part}.cmake OPTIONAL)
endforeach()
