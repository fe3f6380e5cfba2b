#!/usr/bin/env bash
# Checks that the systemd units parse, and that their exposure score, in tenths as systemd-analyze
# takes it, does not grow.
set -euo pipefail
cd "$(dirname "$0")/../../packaging/systemd"
declare -A limits=([lagtrapd]=35 [lagtrap-uploader]=15 [lagtrap-server]=15 [lagtrap-metrics]=15
  [lagtrap-wall]=20)
for name in "${!limits[@]}"; do
  # The programs and man pages are not installed here; every other remark is an error in the unit.
  remarks=$(systemd-analyze verify --recursive-errors=no "./$name.service" 2>&1 |
    grep -vE "is not executable: No such file|Command 'man .*' failed" || true)
  [ -z "$remarks" ] || { echo "$remarks"; exit 1; }
  systemd-analyze security --offline=yes --threshold="${limits[$name]}" "./$name.service" | tail -1
done
for timer in *.timer; do
  # A timer starts the service of the same name and must not be enabled by installing the package.
  remarks=$(systemd-analyze verify --recursive-errors=no "./$timer" 2>&1 |
    grep -vE "is not executable: No such file|Command 'man .*' failed" || true)
  [ -z "$remarks" ] || { echo "$remarks"; exit 1; }
  [ -f "${timer%.timer}.service" ] || { echo "$timer: there is no ${timer%.timer}.service"; exit 1; }
done
# Runs with the rights of the user who enables it.
runtime=$(mktemp -d)
trap 'rm -rf "$runtime"' EXIT
remarks=$(XDG_RUNTIME_DIR=$runtime systemd-analyze --user verify --recursive-errors=no ./user/*.service 2>&1 |
  grep -vE "is not executable: No such file|Command 'man .*' failed" || true)
[ -z "$remarks" ] || { echo "$remarks"; exit 1; }
for service in *.service; do
  [ -n "${limits[${service%.service}]:-}" ] || { echo "$service: no limit of exposure is set for it here"; exit 1; }
done
