# What it was: A deposed leader repeated a launch to a node that had only just dialled, and an agent that had stood still
# started what it then found in its socket: a run started beside its successor.
# Mended by: Let a controller or agent that stood still do no harm; Let a launch say what the controller had heard of the node
# Comes back with: tests/planted/launch_to_strangers.patch
seed 532
steps 27
controllers 3
nodes 6
preempts 1
looks 0
lost 15
repeated 15
late 20
lost_answers 24
late_requests 11
failover_us 4245620
piece_bytes 524288
snapshot_bytes 1924
at 1706471 crash-controller 0 0 lasts 2135501 amount 0
at 2932655 pause-controller 2 0 lasts 40547356 amount 0
at 4227119 crash-host 1 0 lasts 56601890 amount 0
at 5847029 crash-controller 2 0 lasts 27898572 amount 0
at 5957351 crash-controller 2 0 lasts 2457774 amount 0
at 7546466 cut-controllers 0 1 lasts 2361817 amount 0
at 8299342 cut-node 4 0 lasts 46429938 amount 0
at 9434077 cut-node 3 0 lasts 858855 amount 0
at 11315921 pause-agent 3 0 lasts 2840139 amount 0
at 13113674 stop-controller 1 0 lasts 33111312 amount 0
at 13459355 cut-member 0 0 lasts 916727 amount 0
at 15063154 crash-agent 0 0 lasts 1356110 amount 0
at 15761101 crash-controller 0 0 lasts 1657496 amount 0
at 16190480 cut-way 0 0 lasts 1620092 amount 3
at 16839122 pause-controller 2 0 lasts 40462037 amount 0
at 18638157 jump-clock 2 0 lasts 2882914 amount 2943256101
at 18765326 crash-controller 0 0 lasts 2708576 amount 0
at 19992111 pause-controller 2 0 lasts 2212424 amount 0
at 21968353 pause-controller 2 0 lasts 49822463 amount 0
at 22877395 slow-member 0 0 lasts 1678418 amount 3237927
at 23536010 crash-host 1 0 lasts 2307276 amount 0
at 25195208 edit-config 0 0 lasts 37893369 amount 334
at 25792040 slow-member 1 0 lasts 46720241 amount 4033030
at 26049894 cut-way 4 2 lasts 1750265 amount 3
at 27710224 cut-node 4 0 lasts 65998926 amount 0
at 27743760 stop-controller 1 0 lasts 832795 amount 0
at 28703670 jump-clock 1 0 lasts 1655625 amount 47778449
at 30607218 cut-node 1 0 lasts 25905636 amount 0
at 31399460 cut-member 1 0 lasts 2321632 amount 0
at 32203029 slow-member 0 0 lasts 49453 amount 1914905
at 32915964 isolate-controller 0 0 lasts 1740401 amount 0
at 33366531 slow-member 0 0 lasts 877883 amount 2790462
at 34957614 crash-controller 1 0 lasts 1133149 amount 0
at 36881866 crash-agent 0 0 lasts 21752735 amount 0
at 38361367 edit-config 0 0 lasts 739703 amount 695
at 40330729 stall-store 0 0 lasts 1779665 amount 0
at 41985525 cut-node 3 0 lasts 45120233 amount 0
at 43538578 pause-controller 2 0 lasts 1590173 amount 0
at 43698517 cut-clients 0 0 lasts 13607762 amount 0
at 44891304 edit-config 0 0 lasts 1755740 amount 840
at 45326413 reboot-node 0 0 lasts 1099510 amount 0
at 45598454 cut-way 2 2 lasts 2012571 amount 3
at 45640014 pause-controller 1 0 lasts 56387334 amount 0
at 47535775 crash-controller 2 0 lasts 20066792 amount 0
at 48106466 stall-store 0 0 lasts 2253599 amount 0
at 49999960 stall-store 0 0 lasts 1453013 amount 0
at 51304563 full-store 0 0 lasts 20000000 amount 0
at 51881361 cut-node 5 0 lasts 839680 amount 0
at 52737522 cut-way 4 0 lasts 22151070 amount 3
at 53739693 cut-member 1 0 lasts 317347 amount 0
at 55104875 pause-controller 1 0 lasts 31701376 amount 0
at 55147511 stop-controller 2 0 lasts 1908447 amount 0
at 57057096 isolate-controller 1 0 lasts 2041136 amount 0
at 58517697 pause-controller 0 0 lasts 25765104 amount 0
at 60502882 stop-controller 1 0 lasts 116283 amount 0
at 61684785 cut-node 5 0 lasts 2552443 amount 0
at 62284352 slow-member 1 0 lasts 1386414 amount 2914192
at 63424430 pause-controller 0 0 lasts 2097832 amount 0
at 65213637 slow-member 2 0 lasts 354541 amount 2001879
at 66746337 slow-member 2 0 lasts 1534183 amount 1939142
at 67112698 isolate-controller 2 0 lasts 1389171 amount 0
at 67899462 wipe-controller 1 0 lasts 1960066 amount 0
at 69660918 pause-controller 1 0 lasts 9252200 amount 0
at 69737482 crash-host 0 0 lasts 29132445 amount 0
at 71631998 crash-host 1 0 lasts 1835994 amount 0
at 72997083 cut-node 1 0 lasts 2242587 amount 0
at 74690926 cut-controllers 0 1 lasts 2035128 amount 0
at 76451007 cut-node 2 0 lasts 1001024 amount 0
at 76812467 edit-config 0 0 lasts 2845577 amount 473
at 78369540 crash-agent 4 0 lasts 2818526 amount 0
at 79271551 cut-controllers 0 1 lasts 14141176 amount 0
at 79861289 stop-controller 2 0 lasts 17452975 amount 0
