# What it was: A controller that was stopped took its own absence for silence of the nodes and set them DOWN.
# Mended by: Let a controller or agent that stood still do no harm
# Comes back with: tests/planted/stood_still_counts.patch
seed 65
steps 19
controllers 1
nodes 2
preempts 1
lost 15
repeated 15
late 20
lost_answers 0
late_requests 0
failover_us 4220098
piece_bytes 524288
snapshot_bytes 2806
at 644048 crash-agent 0 0 lasts 26877203 amount 0
at 2527326 crash-agent 0 0 lasts 2883718 amount 0
at 3188008 crash-controller 0 0 lasts 1572418 amount 0
at 4352444 crash-controller 0 0 lasts 44137 amount 0
at 5683093 cut-node 0 0 lasts 1315743 amount 0
at 5950901 crash-agent 1 0 lasts 744780 amount 0
at 7616471 cut-node 1 0 lasts 14915710 amount 0
at 7828920 crash-controller 0 0 lasts 60594906 amount 0
at 8789366 cut-way 1 0 lasts 1229168 amount 3
at 10048851 cut-way 1 0 lasts 8463886 amount 1
at 10738061 pause-controller 0 0 lasts 24984211 amount 0
at 11226604 pause-controller 0 0 lasts 2984029 amount 0
at 13176825 cut-way 1 0 lasts 2705071 amount 3
at 14127829 reboot-node 1 0 lasts 2670378 amount 0
at 15633196 pause-controller 0 0 lasts 445860 amount 0
at 17196928 cut-node 1 0 lasts 571673 amount 0
at 17396621 crash-agent 1 0 lasts 2519495 amount 0
at 18875829 jump-clock 0 0 lasts 37639711 amount -54105717
at 19759579 cut-node 0 0 lasts 62341848 amount 0
at 21500994 edit-config 0 0 lasts 1246027 amount 713
at 21880561 cut-node 0 0 lasts 2097045 amount 0
at 21898996 edit-config 0 0 lasts 10450263 amount 225
at 22619901 crash-controller 0 0 lasts 56173764 amount 0
at 23580283 cut-node 1 0 lasts 2741906 amount 0
at 25361276 crash-agent 1 0 lasts 2882241 amount 0
at 27125678 crash-controller 0 0 lasts 12495709 amount 0
at 27849114 crash-controller 0 0 lasts 472170 amount 0
at 29720054 crash-controller 0 0 lasts 1194331 amount 0
at 30562472 crash-agent 1 0 lasts 545027 amount 0
at 30883142 crash-controller 0 0 lasts 20931697 amount 0
at 31787100 cut-node 0 0 lasts 326739 amount 0
at 33653094 cut-node 1 0 lasts 68587034 amount 0
at 35650994 crash-controller 0 0 lasts 1885875 amount 0
at 37540301 cut-node 0 0 lasts 643651 amount 0
at 38131454 crash-controller 0 0 lasts 2636966 amount 0
at 39852114 jump-clock 0 0 lasts 1104940 amount -1636321011
at 40950365 crash-agent 1 0 lasts 23132106 amount 0
at 40996337 cut-node 0 0 lasts 1294042 amount 0
at 41052359 crash-agent 1 0 lasts 23745005 amount 0
at 42871147 crash-agent 0 0 lasts 2250861 amount 0
at 44365505 cut-node 1 0 lasts 1592345 amount 0
at 45902191 jump-clock 0 0 lasts 10041 amount -10647587
at 47901741 crash-controller 0 0 lasts 752556 amount 0
at 49367210 crash-controller 0 0 lasts 1004472 amount 0
at 51230420 reboot-node 0 0 lasts 49312024 amount 0
at 52408768 edit-config 0 0 lasts 1906477 amount 872
at 53759142 cut-clients 0 0 lasts 36597797 amount 0
at 54068613 pause-controller 0 0 lasts 46354583 amount 0
at 55881153 pause-controller 0 0 lasts 1508097 amount 0
