# spur_module(<ring>): the library spur_<ring> from src/<ring>/*.cc and, where there are *_test.cc, the test program
# spur_<ring>_test. New files are picked up by themselves. A folder may add fuzz targets in its *_fuzz.cc files
# (cmake/tests.cmake builds them). Its test_*.cc files are for tests only, of this folder and of those that depend on it:
# the library spur_<ring>_testing.
add_library(spur_warnings INTERFACE)
target_compile_options(spur_warnings INTERFACE -Wall -Wextra -Werror -Wshadow -Wnon-virtual-dtor -Wimplicit-fallthrough)

# Tests run once for every time that they are compiled, and make up a third of all that is.
set(SPUR_TEST_OPTIONS $<$<CONFIG:Release>:-O1>)

# spur_join(<variable> <name> <each> <source>...): what to compile for the sources: themselves, or, with SPUR_JOIN, files that
# include about <each> of them, because most of what a compiler does for a file here it does for headers that its neighbours
# include, too. cmake/join_sources.py deals them out. Includes are relative, so ccache knows the heaps of every clone (CMake's own
# UNITY_BUILD names them in full).
option(SPUR_JOIN "compile several sources of a folder at once: a clean build in half the time, a small change in more" OFF)
# Joined with others, g++-12 takes a Result in history_calls.cc and in cmd_image.cc for uninitialised; a key that is not in force
# is Later in keys.cc, too; and who uses what is beside postgres_sql.cc must not need libpq.
set(SPUR_ALONE ctld/history_calls.cc cli/cmd_image.cc config/slurm_keys.cc os/postgres_sql.cc)
list(TRANSFORM SPUR_ALONE PREPEND ${CMAKE_SOURCE_DIR}/src/)
find_package(Python3 REQUIRED COMPONENTS Interpreter)
function(spur_join variable name each)
  if(NOT SPUR_JOIN)
    set(${variable} ${ARGN} PARENT_SCOPE)
    return()
  endif()
  set(alone)
  foreach(source IN LISTS SPUR_ALONE)
    if(source IN_LIST ARGN)
      list(APPEND alone ${source})
      list(REMOVE_ITEM ARGN ${source})
    endif()
  endforeach()
  execute_process(
    COMMAND ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/cmake/join_sources.py ${CMAKE_SOURCE_DIR}/src ${CMAKE_BINARY_DIR}/joined
      ${name} ${each} ${ARGN}
    OUTPUT_VARIABLE joined COMMAND_ERROR_IS_FATAL ANY)
  set(${variable} ${joined} ${alone} PARENT_SCOPE)
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
    # Commands have much in common and include little.
    set(each 8)
    if(ring STREQUAL "cli")
      set(each 4)
    endif()
    spur_join(sources ${ring} ${each} ${sources})
    add_library(spur_${ring} STATIC ${sources})
    set(scope PUBLIC)
    target_link_libraries(spur_${ring} PRIVATE spur_warnings)
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
    # Only who asks is told where things are: the others compile alike, and come from ccache, in every directory.
    set(alone)
    foreach(test IN LISTS tests)
      file(STRINGS ${test} asks REGEX "SPUR_(SOURCE|BINARY)_DIR|stepd/test_agent\\.h")
      if(asks)
        list(APPEND alone ${test})
        set_source_files_properties(${test} PROPERTIES COMPILE_DEFINITIONS
          "SPUR_SOURCE_DIR=\"${CMAKE_SOURCE_DIR}\";SPUR_BINARY_DIR=\"${CMAKE_RUNTIME_OUTPUT_DIRECTORY}\"")
      endif()
    endforeach()
    list(REMOVE_ITEM tests ${alone} none)
    if(tests)
      spur_join(tests ${ring}_test 12 ${tests})
    endif()
    add_executable(spur_${ring}_test ${tests} ${alone})
    target_link_libraries(spur_${ring}_test PRIVATE spur_${ring} spur_warnings GTest::gtest GTest::gtest_main)
    target_compile_options(spur_${ring}_test PRIVATE ${SPUR_TEST_OPTIONS})
    foreach(dep IN ITEMS ${ring} LISTS SPUR_DEPS_${ring})
      if(TARGET spur_${dep}_testing)
        target_link_libraries(spur_${ring}_test PRIVATE spur_${dep}_testing)
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
