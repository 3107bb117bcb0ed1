spur_binary(spur-sim spur_sim.cc spur_sim)
# Two hundred worlds with every `make test`; many more in `make sim`.
add_test(NAME sim.seeds COMMAND spur-sim --seeds 1-200)
set_tests_properties(sim.seeds PROPERTIES TIMEOUT 900)
add_test(NAME sim.same_seed COMMAND ${CMAKE_SOURCE_DIR}/tests/sim/same_seed.sh $<TARGET_FILE:spur-sim>)
set_tests_properties(sim.same_seed PROPERTIES TIMEOUT 300)
add_test(NAME sim.museum COMMAND ${CMAKE_SOURCE_DIR}/tests/sim/museum.sh $<TARGET_FILE:spur-sim>)
set_tests_properties(sim.museum PROPERTIES TIMEOUT 300)
