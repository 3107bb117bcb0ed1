#!/usr/bin/env bash
# museum.sh SPUR_SIM: every world in which the real code once failed (tests/sim/museum/*.story) holds now.
set -euo pipefail
sim=$1
shopt -s nullglob
stories=("$(dirname "$0")"/museum/*.story)
[ ${#stories[@]} -gt 0 ] || { echo "the museum is empty"; exit 1; }
failed=0
for story in "${stories[@]}"; do
  for line in 'What it was:' 'Mended by:'; do
    grep -q "^# $line " "$story" || { echo "$story does not say \"$line\""; failed=1; }
  done
  "$sim" --story "$story" || failed=1
done
exit $failed
