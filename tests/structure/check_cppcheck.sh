#!/usr/bin/env bash
# check_cppcheck.sh FOLDER: checks that cppcheck finds nothing. Its results are cached in FOLDER, so
# the next run analyses only what changed.
set -euo pipefail
known=$1
mkdir -p "$known"
known=$(readlink -f "$known")
cd "$(dirname "$0")/../.."
folders=(core sandbox spool calls binaries settings trace analysis formats uploader cli daemon server markers)
cppcheck --quiet --error-exitcode=1 --std=c++20 --language=c++ --enable=warning,performance,portability \
  --suppressions-list=tests/structure/cppcheck_suppressions.txt --cppcheck-build-dir="$known" -I. \
  --template='{file}:{line}: {severity}: {id}: {message}' "${folders[@]}"
find "${folders[@]}" -name '*.cpp' | wc -l | sed 's/$/ files, nothing found/'
