#!/usr/bin/env bash
# same_seed.sh SPUR_SIM: the same seed tells the same story to the byte, in another process with other addresses, another heap
# and another environment; another seed tells another one.
set -euo pipefail
sim=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
different=$(printf 'x%.0s' {1..20000})
for seed in 1 2 3 17 4711; do
  "$sim" --seed "$seed" --trace >"$work/one.$seed"
  # Freed and fresh memory holds something, allocations come from another place, the stack lies elsewhere.
  env -i SPUR_PADDING="$different" MALLOC_PERTURB_=165 MALLOC_ARENA_MAX=1 MALLOC_MMAP_THRESHOLD_=256 \
    "$sim" --seed "$seed" --trace >"$work/two.$seed"
  cmp "$work/one.$seed" "$work/two.$seed"
  [ "$(wc -l <"$work/one.$seed")" -gt 100 ] || { echo "the trace of seed $seed tells nothing"; exit 1; }
done
for seed in 2 3 17 4711; do
  if cmp -s "$work/one.1" "$work/one.$seed"; then
    echo "seeds 1 and $seed tell the same story"
    exit 1
  fi
done
