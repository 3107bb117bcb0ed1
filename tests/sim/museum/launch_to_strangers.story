# What it was: A deposed leader repeated a launch to a node that had only just dialled, and a finished run started again.
# Mended by: Let a controller or agent that stood still do no harm
# Comes back with: tests/planted/launch_to_strangers.patch
seed 5555
steps 33
controllers 3
nodes 2
preempts 1
lost 15
repeated 15
late 20
lost_answers 35
late_requests 5
failover_us 3209850
piece_bytes 524288
snapshot_bytes 1516
at 2110310 disk-full 2 0 lasts 67272316 amount 0
at 2370516 cut-controllers 0 1 lasts 1492909 amount 0
at 8323508 isolate-controller 0 0 lasts 1155558 amount 0
at 9280286 stop-controller 1 0 lasts 9388707 amount 0
at 12555783 stall-store 0 0 lasts 20000000 amount 0
at 15712141 cut-way 0 0 lasts 481641 amount 3
at 22537811 cut-controllers 2 0 lasts 219669 amount 0
at 24635738 crash-controller 0 0 lasts 33124849 amount 0
at 31541203 pause-controller 1 0 lasts 815535 amount 0
at 35105090 isolate-controller 0 0 lasts 1482803 amount 0
at 36418799 pause-controller 0 0 lasts 17962472 amount 0
at 37829232 crash-controller 1 0 lasts 18301498 amount 0
at 39865639 isolate-controller 2 0 lasts 19310617 amount 0
at 44866410 crash-controller 1 0 lasts 37589700 amount 0
at 48249058 crash-host 2 0 lasts 2096873 amount 0
at 49417062 isolate-controller 1 0 lasts 463143 amount 0
at 53586538 pause-controller 1 0 lasts 55675126 amount 0
at 57151458 edit-config 0 0 lasts 922595 amount 373
at 59891024 pause-controller 2 0 lasts 1195965 amount 0
at 66817648 full-store 0 0 lasts 867899 amount 0
at 68658164 jump-clock 0 0 lasts 2453127 amount -10914062
at 68968660 pause-controller 1 0 lasts 1425719 amount 0
at 71523521 isolate-controller 2 0 lasts 46793352 amount 0
at 77813875 disk-full 2 0 lasts 277756 amount 0
at 81146102 cut-node 1 0 lasts 2751810 amount 0
at 82613143 crash-agent 0 0 lasts 41404179 amount 0
at 85939181 cut-way 1 1 lasts 3775918 amount 2
at 87469427 stop-controller 1 0 lasts 1274811 amount 0
at 87845945 pause-controller 2 0 lasts 73945 amount 0
at 92870619 pause-controller 1 0 lasts 39594864 amount 0
at 98647248 pause-agent 0 0 lasts 48365546 amount 0
