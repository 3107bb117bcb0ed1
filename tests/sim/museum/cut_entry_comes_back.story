# What it was: An append was given up, sent again and done; the log was cut; then the first request came after all and wrote the entry anew, before the log's beginning.
# Mended by: Keep the journal in etcd behind doors, and append only behind the last entry
# Comes back with: tests/planted/cut_entry_comes_back.patch
seed 2038
steps 36
controllers 3
nodes 6
preempts 0
lost 15
repeated 15
late 20
lost_answers 14
late_requests 14
failover_us 5021336
piece_bytes 524288
snapshot_bytes 304
at 6337272 cut-controllers 1 2 lasts 129092 amount 0
at 25213862 cut-node 2 0 lasts 1734158 amount 0
at 26950855 crash-controller 0 0 lasts 639691 amount 0
at 40992455 isolate-controller 2 0 lasts 136630 amount 0
at 43575568 slow-member 2 0 lasts 560746 amount 2947061
at 52992402 pause-controller 2 0 lasts 731156 amount 0
at 70092330 pause-controller 2 0 lasts 621059 amount 0
at 73108766 pause-controller 1 0 lasts 28722643 amount 0
at 85626430 pause-controller 0 0 lasts 675704 amount 0
at 100637463 pause-controller 2 0 lasts 2592834 amount 0
at 104952744 cut-node 3 0 lasts 33970971 amount 0
