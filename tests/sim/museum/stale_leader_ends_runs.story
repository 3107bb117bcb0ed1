# What it was: A leader that was stopped and deposed had a run of its successor ended, because it had never heard of it.
# Mended by: Let a controller or agent that stood still do no harm
# Comes back with: tests/planted/stale_leader_ends_runs.patch
seed 971
steps 42
controllers 3
nodes 6
preempts 0
lost 15
repeated 15
late 20
lost_answers 34
late_requests 14
failover_us 5560449
piece_bytes 524288
snapshot_bytes 2427
at 3011294 cut-way 2 1 lasts 2943349 amount 1
at 7980998 pause-controller 2 0 lasts 478420 amount 0
at 14134311 slow-member 0 0 lasts 2714750 amount 3723209
at 19501231 slow-member 0 0 lasts 764355 amount 764825
at 23707074 edit-config 0 0 lasts 2157184 amount 840
at 25495632 pause-controller 2 0 lasts 57666745 amount 0
at 31940118 pause-controller 2 0 lasts 16237746 amount 0
at 32403486 cut-way 0 1 lasts 2585975 amount 1
at 37797007 wipe-controller 2 0 lasts 2496108 amount 0
at 41593742 cut-controllers 2 0 lasts 2004042 amount 0
at 46219094 crash-controller 1 0 lasts 47803286 amount 0
at 48360336 jump-clock 0 0 lasts 744028 amount 43204277
at 51084812 crash-controller 2 0 lasts 20286598 amount 0
at 52048297 pause-controller 0 0 lasts 2091445 amount 0
at 52453239 jump-clock 1 0 lasts 2477249 amount -24145246
at 54087290 slow-member 0 0 lasts 1011867 amount 3123427
at 54145057 cut-way 2 0 lasts 2311309 amount 1
at 56386802 reboot-node 3 0 lasts 54342871 amount 0
at 59105679 cut-controllers 1 2 lasts 1457988 amount 0
at 61008586 crash-agent 2 0 lasts 1139906 amount 0
at 66006321 cut-way 2 2 lasts 1300308 amount 2
at 69165606 crash-controller 2 0 lasts 59602309 amount 0
at 74115842 cut-node 4 0 lasts 1815690 amount 0
at 75796827 pause-controller 2 0 lasts 2295369 amount 0
at 79147881 slow-member 0 0 lasts 2349943 amount 707292
at 81633233 reboot-node 3 0 lasts 50767177 amount 0
at 83312876 crash-host 2 0 lasts 1133288 amount 0
at 88179540 pause-controller 2 0 lasts 19656628 amount 0
at 89765655 crash-host 2 0 lasts 2063645 amount 0
at 89807486 pause-controller 0 0 lasts 56649756 amount 0
at 91331778 pause-controller 0 0 lasts 621805 amount 0
at 92019417 pause-controller 2 0 lasts 1495905 amount 0
at 95397499 pause-controller 0 0 lasts 2838919 amount 0
at 102247527 isolate-controller 2 0 lasts 17344090 amount 0
at 104915411 pause-controller 1 0 lasts 597950 amount 0
at 106198383 crash-host 0 0 lasts 2074222 amount 0
at 110858800 jump-clock 2 0 lasts 1763867 amount 64089905
at 111125883 crash-controller 1 0 lasts 16764306 amount 0
at 114049814 crash-controller 2 0 lasts 3887715 amount 0
at 119757090 disk-full 1 0 lasts 7893890 amount 0
at 124153594 isolate-controller 2 0 lasts 2805804 amount 0
