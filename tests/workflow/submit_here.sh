#!/usr/bin/env bash
# A batch system for tests: starts a job script on this machine, notes what it asks for, and prints its number.
# submit_here.sh NOTES CORES MB MINUTES GPUS SCRIPT
set -euo pipefail
script=${*: -1}
echo "${*:2:4}" >>"$1"
setsid bash "$script" >>"$1.log" 2>&1 </dev/null &
echo $!
