# Tests that are not one folder's unit tests: scenarios, fuzz smoke runs, end to end.
list(APPEND SPUR_FUZZ_LIBRARIES spur_config)
foreach(part fuzz scenario e2e)
  include(${CMAKE_CURRENT_LIST_DIR}/${part}.cmake OPTIONAL)
endforeach()
# A libnvidia-ml.so.1 for machines without one: the tests of os/gpu load it, those in tests/e2e by LD_LIBRARY_PATH.
add_library(fake_nvml SHARED ${CMAKE_SOURCE_DIR}/tests/fake_nvml/fake_nvml.cc)
set_target_properties(fake_nvml PROPERTIES OUTPUT_NAME nvidia-ml SOVERSION 1
  LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/fake_nvml)
add_dependencies(spur_os_test fake_nvml)
target_compile_definitions(spur_os_test PRIVATE FAKE_NVML="${CMAKE_BINARY_DIR}/fake_nvml/libnvidia-ml.so.1")
