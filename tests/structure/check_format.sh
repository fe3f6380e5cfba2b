#!/usr/bin/env bash
# Checks that C++, Python and TypeScript are formatted and that the shell scripts parse.
set -euo pipefail
cd "$(dirname "$0")/../.."
./dev format --check
mapfile -t scripts < <(grep -rlIE '^#!(/usr)?/bin/(env )?(ba)?sh' dev .ci packaging tests bench 2>/dev/null)
[ "${#scripts[@]}" -gt 0 ]
for script in "${scripts[@]}"; do bash -n "$script"; done
echo "${#scripts[@]} shell scripts parse"
