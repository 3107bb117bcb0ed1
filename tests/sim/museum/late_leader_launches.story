# What it was: A leader that heard late that its entry was durable launched a run that its successor had given up.
# Mended by: Launch nothing where another controller may lead by now
# Comes back with: tests/planted/late_leader_launches.patch
seed 17094
steps 25
controllers 3
nodes 6
preempts 0
looks 0
lost 0
repeated 0
late 0
lost_answers 35
late_requests 1
failover_us 4483245
piece_bytes 1508
snapshot_bytes 2384
at 2658712 isolate-controller 1 0 lasts 1116641 amount 0
at 8138138 crash-controller 2 0 lasts 1963184 amount 0
at 10721376 stop-controller 2 0 lasts 1859772 amount 0
at 16013052 slow-member 1 0 lasts 1921613 amount 1357183
at 22252439 cut-way 0 2 lasts 436585 amount 2
at 28438948 pause-controller 0 0 lasts 2962447 amount 0
at 30084019 wipe-controller 0 0 lasts 207500 amount 0
at 32419287 pause-controller 2 0 lasts 2403625 amount 0
at 35946794 isolate-controller 1 0 lasts 2635858 amount 0
at 40309084 crash-controller 0 0 lasts 6435124 amount 0
at 41196775 cut-way 2 1 lasts 51822874 amount 2
at 41734891 jump-clock 2 0 lasts 2443486 amount -19837895
at 45653730 stop-controller 0 0 lasts 40163992 amount 0
at 50828640 slow-member 0 0 lasts 236138 amount 3969382
at 52930495 cut-member 2 0 lasts 1838091 amount 0
at 55678997 cut-node 5 0 lasts 24128431 amount 0
at 57287770 jump-clock 0 0 lasts 2482544 amount 819319136
at 63287738 cut-clients 1 0 lasts 32196784 amount 0
at 68596417 stop-controller 2 0 lasts 58375913 amount 0
at 70374926 cut-controllers 2 0 lasts 99053 amount 0
at 74750228 pause-controller 2 0 lasts 31017482 amount 0
