#!/usr/bin/env bash
# check_cppcheck.sh FOLDER: cppcheck finds nothing. What it learns of a file is kept in FOLDER, so that the next run looks
# only at what changed.
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
