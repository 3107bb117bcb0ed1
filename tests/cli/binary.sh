#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The real program, without a controller: names it answers to, what it says when nobody answers, what it is linked with.
# Usage: binary.sh DIRECTORY-OF-THE-PROGRAMS [1: its functions are ordered]
bin=$1
ordered=${2:-0}
failed=0
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
export SPUR_CONTROLLER_ADDR=unix:$dir/nobody.sock SPUR_AUTH_SOCKET= SPUR_CONF= SLURM_CONF=
unset SPUR_CONF SLURM_CONF
export HOME=$dir

# check WHAT STATUS STDOUT STDERR COMMAND...: patterns are bash globs
check() {
  local what=$1 status=$2 out=$3 err=$4
  shift 4
  "$@" >"$dir/out" 2>"$dir/err" </dev/null
  local got=$?
  # shellcheck disable=SC2053
  if [[ $got != "$status" || $(<"$dir/out") != $out || $(<"$dir/err") != $err ]]; then
    printf 'FAILED %s\n  status %s, want %s\n  stdout: %s\n  stderr: %s\n' "$what" "$got" "$status" "$(<"$dir/out")" "$(<"$dir/err")"
    failed=1
  fi
}

for name in sbatch srun squeue scancel sinfo scontrol; do
  check "$name by link" 0 'slurm 25.05.0' '' "$bin/$name" --version
  check "spur $name" 0 'slurm 25.05.0' '' "$bin/spur" "$name" -V
  check "$name --help" 0 '*--version*' '' "$bin/$name" --help
  check "$name --usage" 0 '*' '' "$bin/$name" --usage
done
check 'spur version' 0 'spur [0-9]*' '' "$bin/spur" version
check 'spur help' 0 'Usage: spur*' '' "$bin/spur" help
check 'bad option' 255 '' "sbatch: unrecognized option '--bogus'"$'\n''Try "sbatch --help" for more information' "$bin/sbatch" --bogus
check 'no controller needed' 0 $'n1\nn2' '' "$bin/scontrol" show hostnames 'n[1-2]'
check 'squeue without a controller' 1 '' 'slurm_load_jobs error: *' "$bin/squeue"
check 'sinfo without a controller' 1 '' 'slurm_load_partitions: *' "$bin/sinfo"
check 'sbatch without a controller' 1 '' 'sbatch: error: Batch job submission failed: *' "$bin/sbatch" --wrap=true
check 'a reader that goes away' 0 '*' '' bash -c "'$bin/sinfo' --help | head -1"

# Start-up: nothing but libc (and the loader, libm) may be linked dynamically.
if ! ldd "$bin/spur" | grep -q libasan; then
  extra=$(ldd "$bin/spur" | awk '{print $1}' | grep -vE '^(linux-vdso|libc\.so|libm\.so|/lib|libresolv)')
  if [[ -n $extra ]]; then
    printf 'FAILED: linked with %s\n' "$extra"
    failed=1
  fi
fi

# src/main/short_life.cc leaves std::cout, std::cerr and std::clog as they are at the start.
if nm "$bin/spur" | grep -q '__wrap___cxa_atexit' && nm "$bin/spur" | grep -E ' _ZSt4(cout|cerr|clog)$'; then
  printf 'FAILED: the commands have a stream of the C++ library that nobody sets up\n'
  failed=1
fi

# What a start touches: 82 page faults without the order of the functions, 54 with it.
if [[ $ordered == 1 ]]; then
  faults=$(python3 -c 'import os, sys
null = (os.POSIX_SPAWN_OPEN, 1, "/dev/null", os.O_WRONLY, 0)
print(os.wait4(os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ, file_actions=[null]), 0)[2].ru_minflt)' "$bin/sbatch" --version)
  if ((faults > 70)); then
    printf 'FAILED: %s page faults for sbatch --version; see tools/order-functions\n' "$faults"
    failed=1
  fi
fi
exit $failed
