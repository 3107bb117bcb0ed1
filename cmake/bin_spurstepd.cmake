# spurstepd is started once per job, so what it costs to start counts: it is linked wholly statically (no dynamic loader; it asks
# no name service). Sanitizers need the dynamic libraries.
spur_binary(spurstepd spurstepd.cc)
if(SPUR_SANITIZE)
  target_link_libraries(spurstepd PRIVATE spur_stepd)
else()
  add_library(spur_fmt_static STATIC ${CMAKE_SOURCE_DIR}/src/main/fmt_static.cc)
  # Nothing of what it does not call: neither the rest of a folder, nor the libraries that it would need.
  target_link_options(spurstepd PRIVATE -static -Wl,--gc-sections)
  foreach(part stepd os wire model text base proto fmt_static)
    target_link_libraries(spurstepd PRIVATE $<TARGET_FILE:spur_${part}>)
    add_dependencies(spurstepd spur_${part})
  endforeach()
  target_include_directories(spurstepd PRIVATE ${CMAKE_SOURCE_DIR}/src)
  # It opens no HTTP/2 connection, but mold may take an inline function from the wire's object that does.
  find_library(NGHTTP2_STATIC libnghttp2.a REQUIRED)
  find_library(ZSTD_STATIC libzstd.a REQUIRED)
  target_link_libraries(spurstepd PRIVATE ${PROTOBUF_LITE_STATIC} ${NGHTTP2_STATIC} ${ZSTD_STATIC})
endif()
if(TARGET spur_stepd_test)
  add_dependencies(spur_stepd_test spurstepd)
endif()
include(${CMAKE_CURRENT_LIST_DIR}/bench_launcher.cmake)
