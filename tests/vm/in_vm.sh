#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The machine's first process: a cluster of one node, and checks of what confines its jobs. Prints "ok NAME" or
# "FAIL NAME" for each.
export PATH=/bin SLURM_CONF=/etc/slurm/slurm.conf HOME=/
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mount -t tmpfs -o mode=1777 tmp /tmp
mount -t cgroup2 cgroup /sys/fs/cgroup
hostname vm
ip link set lo up
chown 1000:1000 /home/alice; chown 1001:1001 /home/bob
# Two "GPUs": devices that the kernel has without hardware, readable by everybody.
mknod /dev/gpu0 c 1 5; mknod /dev/gpu1 c 1 9; chmod 666 /dev/gpu0 /dev/gpu1

check() { # NAME COMMAND...
  name=$1; shift
  if "$@" > /tmp/check.log 2>&1; then echo "ok $name"; else echo "FAIL $name"; sed 's/^/  /' /tmp/check.log | head -40; fi
}
as() { user=$1; shift; su -s /bin/sh "$user" -c "cd /home/$user && export PATH=/bin SLURM_CONF=$SLURM_CONF && $*"; }
submit() { user=$1; shift; as "$user" "sbatch --parsable $*"; }
state() { scontrol show job "$1" | sed -n 's/.*JobState=\([A-Z_]*\).*/\1/p'; }
await() { # JOB STATE: until it is so
  for i in $(seq 1200); do [ "$(state "$1")" = "$2" ] && return 0; usleep 100000; done
  echo "job $1 is $(state "$1"), not $2"; scontrol show job "$1"; return 1
}
await_file() { for i in $(seq 1200); do [ -s "$1" ] && return 0; usleep 100000; done; echo "$1 does not come"; return 1; }
group() { ls -d /sys/fs/cgroup/spur.*/job_"$1" 2>/dev/null; }
# Nothing of a job is left: no process of the user, no cgroup.
clean() { # USER JOB
  for i in $(seq 300); do
    left=$(ps -o user,pid,args | awk -v u="$1" '$1 == u'); groups=$(group "$2")
    [ -z "$left$groups" ] && return 0
    usleep 100000
  done
  echo "left behind: $left $groups"; return 1
}

mkdir -p /var/spool/ctld /var/spool/spurd
spurctld -D > /tmp/ctld.log 2>&1 &
spurd -D > /tmp/spurd.log 2>&1 &
for i in $(seq 600); do sinfo -h -o %T 2>/dev/null | grep -q idle && break; usleep 100000; done
check "the node is idle" sh -c 'sinfo; cat /tmp/spurd.log /tmp/ctld.log; sinfo -h -o %T | grep -qx idle'
check "the agent misses no controller" sh -c 'cat /tmp/spurd.log; ! grep -q "not enforced" /tmp/spurd.log'

memory() {
  a=$(submit bob --mem=64 -c1 -o /tmp/neighbour.out "--wrap 'echo up; misbehave hog 20; while [ ! -e /tmp/go ]; do sleep 1; done; echo fine'")
  await_file /tmp/neighbour.out || return 1
  b=$(submit alice --mem=64 -c1 -o /tmp/hog.out "--wrap 'misbehave hog 300; echo the script goes on'")
  await "$b" OUT_OF_MEMORY || { cat /tmp/hog.out; return 1; }
  cat /tmp/hog.out
  grep -q "slurmstepd: error: Detected 1 oom-kill event(s) in StepId=$b.batch. Some of your processes may have been killed by the cgroup out-of-memory handler." /tmp/hog.out || return 1
  ! grep -q "had 300" /tmp/hog.out || return 1
  scontrol show job "$b" | grep -q "ExitCode=0:125" || { scontrol show job "$b"; return 1; }
  [ "$(state "$a")" = RUNNING ] || return 1
  touch /tmp/go
  await "$a" COMPLETED && grep -q fine /tmp/neighbour.out
}
check "a memory hog is OUT_OF_MEMORY and its neighbour lives" memory

limits() {
  j=$(submit alice --mem=100 -c1 -o /tmp/limits.out "--wrap 'grep Cpus_allowed_list /proc/self/status; while [ ! -e /tmp/go2 ]; do sleep 1; done'")
  await_file /tmp/limits.out || return 1
  cat /tmp/limits.out; g=$(group "$j"); head -100 "$g"/memory.max "$g"/memory.swap.max "$g"/cpuset.cpus "$g"/pids.max
  [ "$(cat "$g"/memory.max)" = 104857600 ] && [ "$(cat "$g"/memory.swap.max)" = 0 ] &&
    grep -Eq 'list:[[:space:]]*[01]$' /tmp/limits.out && [ "$(cat "$g"/pids.max)" -gt 100 ] || return 1
  scontrol suspend "$j" || return 1
  for i in $(seq 100); do grep -q 'frozen 1' "$g"/step_batch/cgroup.events && break; usleep 100000; done
  grep -q 'frozen 1' "$g"/step_batch/cgroup.events || { cat "$g"/step_batch/cgroup.events; return 1; }
  scontrol resume "$j"; touch /tmp/go2
  await "$j" COMPLETED && clean alice "$j"
}
check "limits are set, suspending freezes" limits

devices() {
  j=$(submit alice --gres=gpu:1 -c1 -o /tmp/dev.out "--wrap 'misbehave open /dev/gpu0; misbehave open /dev/gpu1; misbehave open /dev/null; srun --gres=none misbehave open /dev/gpu0; echo end'")
  k=$(submit bob -c1 -o /tmp/dev2.out "--wrap 'misbehave open /dev/gpu0; misbehave open /dev/gpu1; echo end'")
  await "$j" COMPLETED && await "$k" COMPLETED || return 1
  ls -l /dev/gpu0 /dev/gpu1; cat /tmp/dev.out /tmp/dev2.out
  [ "$(grep -c 'gpu0 opened' /tmp/dev.out)" -ge 1 ] && grep -q 'gpu1 Operation not permitted' /tmp/dev.out &&
    grep -q 'null opened' /tmp/dev.out && [ "$(grep -c 'not permitted' /tmp/dev2.out)" = 2 ] &&
    misbehave open /dev/gpu1 | grep -q opened
}
check "a device of another job cannot be opened" devices

bomb() {
  j=$(submit alice --mem=200 -c1 -o /tmp/bomb.out "--wrap 'misbehave bomb'")
  await "$j" RUNNING || return 1
  g=$(group "$j")
  for i in $(seq 600); do grep -Eq 'max [1-9]' "$g"/pids.events && break; grep -Eq 'oom_kill [1-9]' "$g"/memory.events && break; usleep 100000; done
  cat "$g"/pids.events "$g"/pids.current "$g"/memory.events
  k=$(submit bob --mem=50 -c1 -o /tmp/alive.out "--wrap 'echo alive'")
  await "$k" COMPLETED || return 1
  scancel "$j"; await "$j" CANCELLED || [ "$(state "$j")" = OUT_OF_MEMORY ] || return 1
  clean alice "$j"
}
check "a fork bomb is contained" bomb

leftover() {
  j=$(submit alice -c1 -o /tmp/left.out "--wrap 'misbehave daemon 1000; nohup sleep 1000 & srun misbehave daemon 1000; echo done'")
  await "$j" COMPLETED || { cat /tmp/left.out; return 1; }
  clean alice "$j"
}
check "nothing of a job remains after its end" leftover

steps() {
  j=$(submit alice --mem=200 -n2 -o /tmp/step.out "--wrap 'srun -n2 sh -c \"cat /proc/self/cgroup\"; srun -n1 --mem=40 misbehave hog 120; echo rc=\$?; sleep 1; echo script fine'")
  await "$j" COMPLETED || { cat /tmp/step.out; return 1; }
  cat /tmp/step.out
  grep -q "job_$j/step_0/task_0" /tmp/step.out && grep -q "job_$j/step_0/task_1" /tmp/step.out &&
    grep -q "oom-kill event(s) in StepId=$j.1" /tmp/step.out && ! grep -q 'rc=0' /tmp/step.out && clean alice "$j"
}
check "a step has its own share, its tasks groups of their own" steps

cpus_of_step() { # a task that unbinds itself stays on its step's CPU
  j=$(submit alice -n2 -o /tmp/cpus.out "--wrap 'srun --exact -n1 sh -c \"taskset -p 3 \\$\\$ >/dev/null; grep Cpus_allowed_list /proc/self/status\"; echo end'")
  await "$j" COMPLETED || { cat /tmp/cpus.out; return 1; }
  cat /tmp/cpus.out
  grep -Eq 'list:[[:space:]]*[01]$' /tmp/cpus.out
}
check "a step is kept on its CPUs" cpus_of_step

usage() {
  j=$(submit alice --mem=200 -c1 -o /tmp/usage.out "--wrap 'echo up; misbehave hold 60'")
  await_file /tmp/usage.out || return 1
  for i in $(seq 300); do
    kib=$(as alice sstat -nP --noconvert -j "$j.batch" -o maxrss 2>/dev/null | awk '{print int($1 / 1024)}')
    [ "${kib:-0}" -gt 60000 ] && break
    usleep 100000
  done
  echo "MaxRSS $kib KiB"; as alice sstat -a -j "$j"
  scancel "$j"
  [ "${kib:-0}" -gt 60000 ] && [ "$kib" -lt 200000 ] && clean alice "$j"
}
check "sstat tells what a job uses" usage

contained() {
  touch /tmp/prolog_daemon
  j=$(submit alice -c1 -o /tmp/contained.out "--wrap 'echo up; while [ ! -e /tmp/go3 ]; do sleep 1; done'")
  await_file /tmp/contained.out || return 1
  rm /tmp/prolog_daemon
  ps -o user,pid,args | grep 'misbehave daemo[n]' || { echo "the prolog left nothing"; return 1; }
  touch /tmp/go3
  await "$j" COMPLETED && clean alice "$j" || return 1
  ! ps -o user,pid,args | grep 'misbehave daemo[n]'
}
check "what a contained prolog leaves ends with the job" contained

container() {
  mkdir -p /home/alice/image/bin /home/alice/image/etc && cp /bin/busybox /bin/misbehave /home/alice/image/bin
  for applet in sh cat id ls; do ln -s busybox /home/alice/image/bin/$applet; done
  echo inside > /home/alice/image/etc/marker; chown -R alice:alice /home/alice/image
  j=$(submit alice --gres=gpu:1 -c1 -o /tmp/box.out "--wrap 'srun --container-image=/home/alice/image sh -c \"cat /etc/marker /proc/self/cgroup; id -u; ls /dev; misbehave open /dev/gpu0; echo x > /new && ls /new; cat /home/alice/image/etc/marker\"; echo end'")
  await "$j" COMPLETED || return 1
  cat /tmp/box.out
  grep -qx inside /tmp/box.out && grep -q "job_$j/step_0/task_0" /tmp/box.out && grep -qx 1000 /tmp/box.out &&
    grep -q 'gpu0 opened' /tmp/box.out && ! grep -qx gpu1 /tmp/box.out && grep -qx /new /tmp/box.out &&
    [ "$(grep -cx inside /tmp/box.out)" = 1 ] && [ -z "$(ls /var/spool/ctld/images/run)" ] && clean alice "$j"
}
check "a container shows its image, in the step's group, with the granted device" container

echo "END OF CHECKS"
poweroff -f
