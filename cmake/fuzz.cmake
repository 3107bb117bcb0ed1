# spur_fuzz_smoke: all targets of tests/fuzz under one deterministic driver, part of every test run. With clang, each
# <name>_fuzz.cc is a libFuzzer program spur_fuzz_<name> as well. A target that needs more than text/ adds its library
# to SPUR_FUZZ_LIBRARIES before this file is included.
file(GLOB fuzz_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/fuzz/*_fuzz.cc)
set(fuzz_libraries spur_text ${SPUR_FUZZ_LIBRARIES} spur_warnings)

add_executable(spur_fuzz_smoke ${CMAKE_SOURCE_DIR}/tests/fuzz/smoke.cc ${fuzz_sources})
target_link_libraries(spur_fuzz_smoke PRIVATE ${fuzz_libraries})
add_test(NAME fuzz.smoke COMMAND spur_fuzz_smoke)
set_tests_properties(fuzz.smoke PROPERTIES TIMEOUT 600
  ENVIRONMENT "ASAN_OPTIONS=abort_on_error=1;UBSAN_OPTIONS=halt_on_error=1:abort_on_error=1:print_stacktrace=1")

if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  foreach(source IN LISTS fuzz_sources)
    get_filename_component(stem ${source} NAME_WE)
    string(REGEX REPLACE "_fuzz$" "" stem ${stem})
    add_executable(spur_fuzz_${stem} EXCLUDE_FROM_ALL ${source})
    target_compile_definitions(spur_fuzz_${stem} PRIVATE SPUR_LIBFUZZER)
    target_compile_options(spur_fuzz_${stem} PRIVATE -fsanitize=fuzzer,address,undefined)
    target_link_options(spur_fuzz_${stem} PRIVATE -fsanitize=fuzzer,address,undefined)
    target_link_libraries(spur_fuzz_${stem} PRIVATE ${fuzz_libraries})
  endforeach()
endif()
