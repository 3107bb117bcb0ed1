# Tests that are not one folder's unit tests: scenarios, fuzz smoke runs, end to end.
foreach(part fuzz scenario e2e)
  include(${CMAKE_CURRENT_LIST_DIR}/${part}.cmake OPTIONAL)
endforeach()
