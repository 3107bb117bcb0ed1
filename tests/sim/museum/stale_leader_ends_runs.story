# What it was: A leader that was stopped and deposed had a run of its successor ended, because it had never heard of it.
# Mended by: Let a controller or agent that stood still do no harm
# Comes back with: tests/planted/stale_leader_ends_runs.patch
seed 487
steps 150
controllers 3
nodes 2
preempts 0
looks 500
lost 15
repeated 15
late 20
lost_answers 8
late_requests 9
failover_us 3213478
piece_bytes 792
snapshot_bytes 5794
at 1732203 cut-controllers 0 1 lasts 1497479 amount 0
at 7742481 jump-clock 2 0 lasts 57712 amount 12084568
at 10088721 isolate-controller 2 0 lasts 10016352 amount 0
at 10681610 stop-controller 0 0 lasts 68088383 amount 0
at 11068738 pause-controller 0 0 lasts 1535829 amount 0
at 11921653 slow-member 0 0 lasts 14753528 amount 801535
at 12167705 cut-member 0 0 lasts 718957 amount 0
at 16356340 edit-config 0 0 lasts 44770628 amount 993
at 22188199 pause-controller 0 0 lasts 2029760 amount 0
at 27334625 slow-member 1 0 lasts 2872313 amount 64938
at 28836095 reboot-node 0 0 lasts 1161032 amount 0
at 29867303 stall-store 0 0 lasts 20000000 amount 0
at 34290168 cut-member 0 0 lasts 33452309 amount 0
at 38512033 pause-agent 1 0 lasts 49128963 amount 0
at 42612797 cut-way 0 1 lasts 314577 amount 1
at 44132026 pause-controller 1 0 lasts 1526209 amount 0
at 50848062 pause-controller 0 0 lasts 28075832 amount 0
at 56450062 jump-clock 2 0 lasts 1207169 amount -2042813431
at 59809501 pause-controller 2 0 lasts 14949020 amount 0
at 60237588 slow-member 0 0 lasts 53647810 amount 2512846
at 63283424 pause-controller 2 0 lasts 1479388 amount 0
at 68264469 crash-controller 0 0 lasts 964731 amount 0
at 68701714 crash-agent 1 0 lasts 2370059 amount 0
at 72762308 isolate-controller 1 0 lasts 2765204 amount 0
at 75281938 pause-controller 0 0 lasts 15272503 amount 0
at 75483958 cut-way 1 0 lasts 20576384 amount 1
at 77824392 pause-controller 1 0 lasts 2179397 amount 0
at 80371131 crash-host 1 0 lasts 1232476 amount 0
at 86610418 crash-controller 2 0 lasts 2208257 amount 0
at 89743862 cut-member 2 0 lasts 52835076 amount 0
at 90532409 crash-agent 1 0 lasts 469715 amount 0
at 90753793 pause-controller 2 0 lasts 39662972 amount 0
at 95089567 isolate-controller 2 0 lasts 1725780 amount 0
at 99220760 cut-node 0 0 lasts 30067957 amount 0
at 102232976 pause-controller 2 0 lasts 2396521 amount 0
at 105089969 pause-controller 0 0 lasts 23068205 amount 0
at 106127598 pause-controller 2 0 lasts 2400345 amount 0
at 110350277 pause-agent 0 0 lasts 2561017 amount 0
at 114564184 edit-config 0 0 lasts 2085756 amount 400
at 117015244 jump-clock 2 0 lasts 570368 amount 554585
at 117452619 cut-member 1 0 lasts 785920 amount 0
at 119434424 stall-store 0 0 lasts 20000000 amount 0
at 123211939 pause-controller 0 0 lasts 2099424 amount 0
at 125255245 reboot-node 0 0 lasts 34768812 amount 0
at 130823828 full-store 0 0 lasts 1594644 amount 0
at 133921901 stall-store 0 0 lasts 20000000 amount 0
at 136886825 crash-controller 2 0 lasts 1236388 amount 0
at 137970800 cut-node 1 0 lasts 1829695 amount 0
at 142768901 crash-controller 1 0 lasts 1646795 amount 0
at 143703366 full-store 0 0 lasts 2118496 amount 0
at 147395677 pause-controller 2 0 lasts 2202956 amount 0
at 151160832 edit-config 0 0 lasts 17313649 amount 686
at 153095880 crash-controller 2 0 lasts 25758154 amount 0
at 158747445 stop-controller 0 0 lasts 49574401 amount 0
at 159163715 cut-member 2 0 lasts 480362 amount 0
at 159709577 cut-node 0 0 lasts 41874445 amount 0
at 160497146 cut-node 0 0 lasts 2613942 amount 0
at 163566319 jump-clock 1 0 lasts 43886713 amount -22198559
at 170133195 cut-clients 1 0 lasts 1717661 amount 0
at 172433222 cut-way 0 2 lasts 1670907 amount 2
at 178816063 pause-controller 2 0 lasts 45086107 amount 0
at 183735137 cut-clients 2 0 lasts 2610408 amount 0
at 187779070 isolate-controller 0 0 lasts 69775450 amount 0
at 192870860 disk-full 1 0 lasts 2237433 amount 0
at 195097456 cut-clients 2 0 lasts 42772484 amount 0
at 199939503 crash-agent 0 0 lasts 2553645 amount 0
at 200821821 stop-controller 0 0 lasts 2848045 amount 0
at 207008904 cut-member 0 0 lasts 1849510 amount 0
at 208697484 cut-node 0 0 lasts 2663119 amount 0
at 211708778 cut-member 1 0 lasts 2943349 amount 0
at 216678482 crash-agent 0 0 lasts 478420 amount 0
at 222831795 isolate-controller 0 0 lasts 2714750 amount 0
at 228198715 pause-agent 1 0 lasts 25000000 amount 0
at 232404558 crash-host 2 0 lasts 2157184 amount 0
at 234193116 stall-store 0 0 lasts 20000000 amount 0
at 240637602 pause-controller 2 0 lasts 16237746 amount 0
at 241100970 stall-store 0 0 lasts 2585975 amount 0
at 246494491 slow-member 2 0 lasts 2496108 amount 1466569
at 250291226 pause-agent 0 0 lasts 2004042 amount 0
at 254916578 cut-node 1 0 lasts 47803286 amount 0
at 257057820 pause-controller 0 0 lasts 744028 amount 0
at 259782296 edit-config 0 0 lasts 20286598 amount 263
at 260745781 cut-node 1 0 lasts 2091445 amount 0
at 261150723 edit-config 0 0 lasts 2477249 amount 772
at 262784774 pause-agent 0 0 lasts 1011867 amount 0
at 262842541 pause-agent 0 0 lasts 2311309 amount 0
at 265084286 stop-controller 1 0 lasts 54342871 amount 0
at 267803163 reboot-node 0 0 lasts 1457988 amount 0
at 269706070 crash-controller 2 0 lasts 1139906 amount 0
at 274703805 pause-controller 2 0 lasts 1300308 amount 0
at 277863090 crash-host 2 0 lasts 59602309 amount 0
at 282813326 cut-node 0 0 lasts 1815690 amount 0
at 284494311 pause-controller 2 0 lasts 2295369 amount 0
at 287845365 crash-host 0 0 lasts 2349943 amount 0
at 290330717 cut-node 1 0 lasts 50767177 amount 0
at 292010360 cut-controllers 2 0 lasts 1133288 amount 0
at 296877024 reboot-node 0 0 lasts 19656628 amount 0
at 298463139 pause-controller 2 0 lasts 2063645 amount 0
at 298504970 stop-controller 0 0 lasts 56649756 amount 0
at 300029262 pause-agent 0 0 lasts 621805 amount 0
at 300716901 slow-member 2 0 lasts 1495905 amount 1059777
at 304094983 isolate-controller 0 0 lasts 2838919 amount 0
at 310945011 stop-controller 2 0 lasts 17344090 amount 0
at 313612895 crash-agent 0 0 lasts 597950 amount 0
at 314895867 crash-controller 0 0 lasts 2074222 amount 0
at 319556284 crash-controller 2 0 lasts 1763867 amount 0
at 319823367 crash-agent 1 0 lasts 16764306 amount 0
at 322747298 crash-controller 2 0 lasts 3887715 amount 0
at 328454574 cut-member 1 0 lasts 7893890 amount 0
at 332851078 edit-config 0 0 lasts 2805804 amount 851
at 336989819 pause-controller 0 0 lasts 1529265 amount 0
at 339475182 slow-member 0 0 lasts 5573392 amount 1524579
at 341500255 crash-agent 1 0 lasts 2178370 amount 0
at 344385288 full-store 0 0 lasts 340837 amount 0
at 348607395 stop-controller 0 0 lasts 1426818 amount 0
at 354513981 pause-agent 0 0 lasts 16000000 amount 0
at 356545205 crash-controller 2 0 lasts 2370125 amount 0
at 359566956 cut-member 1 0 lasts 685283 amount 0
at 366162444 isolate-controller 0 0 lasts 1953039 amount 0
at 373104454 reboot-node 1 0 lasts 2192919 amount 0
at 378421649 crash-controller 1 0 lasts 17028676 amount 0
at 384109429 slow-member 0 0 lasts 922316 amount 87262
at 389898718 stop-controller 2 0 lasts 1124302 amount 0
at 396592172 isolate-controller 1 0 lasts 462859 amount 0
at 402316485 edit-config 0 0 lasts 2485632 amount 395
at 403673443 slow-member 2 0 lasts 65368916 amount 1434662
at 409668343 isolate-controller 2 0 lasts 1391905 amount 0
at 415935512 cut-way 0 1 lasts 8306506 amount 1
at 420373027 crash-controller 2 0 lasts 2323962 amount 0
at 421398118 pause-agent 1 0 lasts 15091090 amount 0
at 424112162 pause-controller 0 0 lasts 1576303 amount 0
at 426302782 pause-controller 2 0 lasts 11199971 amount 0
at 429089263 cut-member 0 0 lasts 9310884 amount 0
at 434713684 pause-controller 1 0 lasts 1518097 amount 0
at 437331957 slow-member 1 0 lasts 17568392 amount 2719598
at 437758733 pause-controller 2 0 lasts 2067326 amount 0
at 438721942 reboot-node 1 0 lasts 1072868 amount 0
at 442586092 slow-member 1 0 lasts 921882 amount 244273
at 444121128 cut-member 1 0 lasts 1647276 amount 0
