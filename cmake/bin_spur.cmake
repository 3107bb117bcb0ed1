# The commands: one program, linked wholly statically and to a fixed address: no dynamic loader, no relocations, half as many
# page faults, so that a whole squeue costs about a millisecond (docs/decisions/0005). It asks the name service through
# cli/name_service.h. Slurm's names are links to it. Sanitizers need the dynamic libraries.
set(SPUR_COMMANDS sacct sacctmgr sbatch salloc srun squeue scancel sinfo scontrol sdiag seff sprio sreport sshare sstat sattach sbcast sgather scrontab strigger)
spur_binary(spur spur.cc)
target_compile_definitions(spur PRIVATE SPUR_VERSION="${PROJECT_VERSION}")
if(SPUR_SANITIZE)
  target_link_libraries(spur PRIVATE spur_cli)
else()
  find_library(NGHTTP2_STATIC libnghttp2.a REQUIRED)
  find_library(ZLIB_STATIC libz.a REQUIRED)
  find_library(ZSTD_STATIC libzstd.a REQUIRED)
  add_library(spur_cli_fmt STATIC ${CMAKE_SOURCE_DIR}/src/main/fmt_static.cc)
  add_library(spur_cli_toml STATIC ${CMAKE_SOURCE_DIR}/src/main/toml_static.cc)
  target_compile_definitions(spur_cli_toml PRIVATE TOML_HEADER_ONLY=0)
  target_sources(spur PRIVATE ${CMAKE_SOURCE_DIR}/src/main/short_life.cc)
  target_link_options(spur PRIVATE -static -no-pie
    -Wl,--wrap=__cxa_atexit,--wrap=_ZNSt8ios_base4InitC1Ev,--wrap=_ZNSt8ios_base4InitD1Ev)
  foreach(part cli replay sched wire config state model text base proto cli_toml cli_fmt)
    target_link_libraries(spur PRIVATE $<TARGET_FILE:spur_${part}>)
    add_dependencies(spur spur_${part})
  endforeach()
  target_link_libraries(spur PRIVATE ${PROTOBUF_LITE_STATIC} ${NGHTTP2_STATIC} ${ZLIB_STATIC} ${ZSTD_STATIC})
  # What the everyday commands call lies side by side (tools/order-functions, docs/decisions/0019). Only lld orders by symbol.
  find_program(LLD ld.lld)
  if(LLD)
    set(SPUR_ORDER ${CMAKE_SOURCE_DIR}/src/main/spur.order)
    target_link_options(spur PRIVATE -fuse-ld=lld -Wl,--symbol-ordering-file=${SPUR_ORDER} -Wl,--no-warn-symbol-ordering -Wl,--gc-sections)
    set_target_properties(spur PROPERTIES LINK_DEPENDS ${SPUR_ORDER})
  endif()
endif()
foreach(name IN LISTS SPUR_COMMANDS)
  add_custom_command(TARGET spur POST_BUILD COMMAND ${CMAKE_COMMAND} -E create_symlink spur $<TARGET_FILE_DIR:spur>/${name} VERBATIM)
endforeach()
# Manual pages, beside the programs.
add_custom_command(TARGET spur POST_BUILD
  COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_BINARY_DIR}/man/man1
  COMMAND $<TARGET_FILE:spur> man --all ${CMAKE_BINARY_DIR}/man/man1 VERBATIM)
add_test(NAME cli.binary COMMAND ${CMAKE_SOURCE_DIR}/tests/cli/binary.sh $<TARGET_FILE_DIR:spur> $<BOOL:${SPUR_ORDER}>)
set_tests_properties(cli.binary PROPERTIES TIMEOUT 60)
