# End to end: real daemons on loopback, driven by the commands. One ctest entry per file in tests/e2e/.
file(GLOB e2e_tests CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/e2e/test_*.py)
foreach(file IN LISTS e2e_tests)
  get_filename_component(stem ${file} NAME_WE)
  string(REPLACE "test_" "" stem ${stem})
  add_test(NAME e2e.${stem} COMMAND python3 -m unittest -v ${file} WORKING_DIRECTORY ${CMAKE_SOURCE_DIR}/tests/e2e)
  set_tests_properties(e2e.${stem} PROPERTIES TIMEOUT 600 LABELS e2e
    ENVIRONMENT "SPUR_BIN=${CMAKE_RUNTIME_OUTPUT_DIRECTORY};PYTHONPATH=${CMAKE_SOURCE_DIR}/tests/support;PYTHONDONTWRITEBYTECODE=1")
endforeach()
# Three controllers with an etcd each are enough for a small machine: they do not run beside one another, or beside others.
set_tests_properties(e2e.failover e2e.controllers e2e.ha_surroundings e2e.accounting_ha PROPERTIES RUN_SERIAL TRUE)
