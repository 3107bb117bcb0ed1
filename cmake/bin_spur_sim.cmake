spur_binary(spur-sim spur_sim.cc spur_sim)
# Two hundred worlds with every `make test`; many more in `make sim`.
add_test(NAME sim.seeds COMMAND spur-sim --seeds 1-200)
set_tests_properties(sim.seeds PROPERTIES TIMEOUT 900)
