#!/usr/bin/env bash
# Loads a merged trace into Perfetto's trace_processor, which must not report errors and must show
# what was recorded. Usage: trace_processor.sh TRACE; LAGTRAP_TRACE_PROCESSOR names the
# trace_processor_shell.
# Exit status: 0 good, 1 not good, 2 usage error, 77 trace_processor is missing.
set -euo pipefail

[ $# -eq 1 ] || { echo "usage: $0 TRACE" >&2; exit 2; }
if [ -z "${LAGTRAP_TRACE_PROCESSOR:-}" ]; then
  echo "skipped: LAGTRAP_TRACE_PROCESSOR names no trace_processor" >&2
  exit 77
fi
queries=$(dirname "$(readlink -f "$0")")/../data/trace
faults=0

fault() {
  echo "fault: $1" >&2
  faults=1
}

rows() {
  "$LAGTRAP_TRACE_PROCESSOR" -q "$queries/$1" "$trace" 2>/dev/null | tail -n +2 | grep -v '^$' || true
}

trace=$1
"$LAGTRAP_TRACE_PROCESSOR" -q "$queries/complaints.sql" "$trace" >/dev/null 2>&1 || fault "the trace does not load"
while IFS= read -r row; do
  fault "trace_processor counts $row"
done < <(rows complaints.sql)

declare -A found=()
while IFS=, read -r what count; do
  found[${what//\"/}]=$count
done < <(rows contents.sql)

# Tables that every recording fills, and kinds of rows that must not occur.
for what in perf_samples callsites sched thread_states processes threads; do
  [ "${found[$what]:-0}" -gt 0 ] || fault "no $what"
done
[ "${found[perf_sessions]:-0}" -eq 2 ] || fault "not one session of CPU samples and one of off-CPU stacks"
for what in runs_unfinished runs_without_event stages_outside_runs samples_without_thread callsites_without_root \
            frames_without_mapping lines_without_source clock_is_not_boottime; do
  [ "${found[$what]:-1}" -eq 0 ] || fault "${found[$what]:-unknown} $what"
done

for what in "${!found[@]}"; do echo "$what ${found[$what]}"; done | sort
exit $faults
