# spur_module(<ring>): the library spur_<ring> from src/<ring>/*.cc and, where there are *_test.cc, the test program
# spur_<ring>_test. New files are picked up by themselves. A folder may add fuzz targets in its *_fuzz.cc files
# (cmake/tests.cmake builds them). Its test_*.cc files are for tests only, of this folder and of those that depend on it:
# the library spur_<ring>_testing.
add_library(spur_warnings INTERFACE)
target_compile_options(spur_warnings INTERFACE -Wall -Wextra -Werror -Wshadow -Wnon-virtual-dtor -Wimplicit-fallthrough)

# Tests run once for every time that they are compiled, and make up a third of all that is.
set(SPUR_TEST_OPTIONS $<$<CONFIG:Release>:-O1>)

# spur_join(<target> <each> <source>...): compiles the target's sources some <each> at a time, where SPUR_JOIN is on: most of what
# a compiler does for a file here it does for headers that its neighbours include, too. They are dealt out like cards: files
# of one kind, such as cli/cmd_*.cc, stand side by side in the list and come into different heaps, so each can call its
# table kOptions. Sources with definitions of their own are left alone.
option(SPUR_JOIN "compile several sources of a folder at once: a clean build in half the time, a small change in more" OFF)
# Joined with others, g++-12 takes a Result in history_calls.cc for uninitialised; the functions of sacct's columns are
# called like those of squeue's and sstat's.
set(SPUR_ALONE ${CMAKE_SOURCE_DIR}/src/ctld/history_calls.cc ${CMAKE_SOURCE_DIR}/src/cli/sacct_columns.cc)
function(spur_join target each)
  list(LENGTH ARGN count)
  math(EXPR heaps "(${count} + ${each} - 1) / ${each}")
  set(next 0)
  foreach(source IN LISTS ARGN)
    math(EXPR heap "${next} % ${heaps}")
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${heap})
    if(source IN_LIST SPUR_ALONE)
      set_source_files_properties(${source} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
    endif()
    math(EXPR next "${next} + 1")
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${SPUR_JOIN} UNITY_BUILD_MODE GROUP)
endfunction()

function(spur_module ring)
  set(dir ${CMAKE_SOURCE_DIR}/src/${ring})
  file(GLOB sources CONFIGURE_DEPENDS ${dir}/*.cc)
  set(tests ${sources})
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")
  set(testing ${sources})
  list(FILTER testing INCLUDE REGEX "/test_[^/]*\\.cc$")
  list(FILTER testing EXCLUDE REGEX "_test\\.cc$")
  list(FILTER sources EXCLUDE REGEX "(_test|_fuzz)\\.cc$|/test_[^/]*\\.cc$")
  if(sources)
    add_library(spur_${ring} STATIC ${sources})
    set(scope PUBLIC)
    target_link_libraries(spur_${ring} PRIVATE spur_warnings)
    # Commands have names in common (kOptions, kUsage), so no heap may have two of them.
    set(heap 8)
    if(ring STREQUAL "cli")
      set(heap 4)
    endif()
    spur_join(spur_${ring} ${heap} ${sources})
  else()
    add_library(spur_${ring} INTERFACE)
    set(scope INTERFACE)
  endif()
  target_include_directories(spur_${ring} ${scope} ${CMAKE_SOURCE_DIR}/src)
  foreach(dep IN LISTS SPUR_DEPS_${ring})
    target_link_libraries(spur_${ring} ${scope} spur_${dep})
  endforeach()
  target_link_libraries(spur_${ring} ${scope} fmt::fmt)
  if(testing)
    add_library(spur_${ring}_testing STATIC ${testing})
    target_link_libraries(spur_${ring}_testing PUBLIC spur_${ring} GTest::gtest PRIVATE spur_warnings)
    target_compile_options(spur_${ring}_testing PRIVATE ${SPUR_TEST_OPTIONS})
  endif()
  if(tests)
    add_executable(spur_${ring}_test ${tests})
    spur_join(spur_${ring}_test 12 ${tests})
    target_link_libraries(spur_${ring}_test PRIVATE spur_${ring} spur_warnings GTest::gtest GTest::gtest_main)
    target_compile_options(spur_${ring}_test PRIVATE ${SPUR_TEST_OPTIONS})
    foreach(dep IN ITEMS ${ring} LISTS SPUR_DEPS_${ring})
      if(TARGET spur_${dep}_testing)
        target_link_libraries(spur_${ring}_test PRIVATE spur_${dep}_testing)
      endif()
    endforeach()
    # Only who asks is told where things are: the others compile alike, and come from ccache, in every directory.
    foreach(test IN LISTS tests)
      file(STRINGS ${test} asks REGEX "SPUR_(SOURCE|BINARY)_DIR|stepd/test_agent\\.h")
      if(asks)
        set_source_files_properties(${test} PROPERTIES COMPILE_DEFINITIONS
          "SPUR_SOURCE_DIR=\"${CMAKE_SOURCE_DIR}\";SPUR_BINARY_DIR=\"${CMAKE_RUNTIME_OUTPUT_DIRECTORY}\"")
      endif()
    endforeach()
    add_test(NAME unit.${ring} COMMAND spur_${ring}_test)
    # Sanitizers cost about ten times the time.
    set(limit 300)
    if(SPUR_SANITIZE)
      set(limit 1800)
    endif()
    set_tests_properties(unit.${ring} PROPERTIES TIMEOUT ${limit} LABELS unit)
  endif()
endfunction()
