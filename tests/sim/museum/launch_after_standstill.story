# What it was: An agent that was stopped for longer than a lease started a run from its socket beside the run that had replaced it.
# Mended by: Let a controller or agent that stood still do no harm
# Comes back with: tests/planted/launch_after_standstill.patch
seed 520
steps 36
controllers 3
nodes 6
preempts 1
lost 15
repeated 15
late 20
lost_answers 0
late_requests 0
failover_us 4802547
piece_bytes 524288
snapshot_bytes 3625
at 5918156 cut-clients 0 0 lasts 1091465 amount 0
at 11479513 isolate-controller 0 0 lasts 1808656 amount 0
at 15709521 pause-controller 1 0 lasts 15820126 amount 0
at 21006443 pause-controller 0 0 lasts 49493907 amount 0
at 24999695 crash-controller 1 0 lasts 1549647 amount 0
at 28342745 pause-agent 5 0 lasts 42004860 amount 0
at 33614455 jump-clock 2 0 lasts 1462726 amount 40515708
at 39320338 crash-agent 0 0 lasts 2335327 amount 0
at 45980474 jump-clock 1 0 lasts 2197748 amount 42635109
at 52249199 full-store 0 0 lasts 20000000 amount 0
at 55148568 cut-node 2 0 lasts 1614475 amount 0
at 58843350 disk-full 0 0 lasts 211319 amount 0
at 60570306 disk-full 1 0 lasts 1515439 amount 0
at 65967908 pause-controller 1 0 lasts 1644612 amount 0
at 72206604 stall-store 0 0 lasts 2968439 amount 0
at 74106175 stop-controller 1 0 lasts 1647059 amount 0
at 76038702 cut-node 2 0 lasts 2718699 amount 0
at 76393637 crash-host 0 0 lasts 750627 amount 0
at 77019704 cut-node 3 0 lasts 254856 amount 0
at 81878024 pause-controller 1 0 lasts 1029633 amount 0
at 82822641 pause-controller 0 0 lasts 1115274 amount 0
at 89376454 cut-node 3 0 lasts 30858330 amount 0
at 94558747 pause-controller 2 0 lasts 58592480 amount 0
at 98777299 cut-controllers 0 1 lasts 2249331 amount 0
at 100726908 wipe-controller 0 0 lasts 625861 amount 0
at 107500560 crash-host 1 0 lasts 87310 amount 0
