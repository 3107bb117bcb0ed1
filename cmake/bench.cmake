# Load generators and micro-benchmarks of bench/; built with everything, run by bench/run.
add_executable(spur-submit-load ${CMAKE_SOURCE_DIR}/bench/submit_load.cc)
target_link_libraries(spur-submit-load PRIVATE spur_warnings spur_proto_grpc spur_wire spur_config)
add_executable(spur-bench-sched ${CMAKE_SOURCE_DIR}/bench/sched_scale.cc)
target_link_libraries(spur-bench-sched PRIVATE spur_warnings spur_sched)
add_executable(topology_bench EXCLUDE_FROM_ALL ${CMAKE_SOURCE_DIR}/bench/topology_bench.cc)
target_link_libraries(topology_bench PRIVATE spur_warnings spur_sched)
add_executable(spur-agent-load ${CMAKE_SOURCE_DIR}/bench/agent_load.cc)
target_link_libraries(spur-agent-load PRIVATE spur_warnings spur_agent spur_os spur_config)
