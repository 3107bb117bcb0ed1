#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The machine's Prolog: leaves a process behind when it is told to.
[ -e /tmp/prolog_daemon ] && /bin/misbehave daemon 1000
exit 0
