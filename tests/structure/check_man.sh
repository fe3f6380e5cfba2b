#!/usr/bin/env bash
# Every man page is clean mdoc. mandoc also warns of an unknown cross-reference (of pages not installed here) as
# "style", which is below the level asked for.
set -euo pipefail
cd "$(dirname "$0")/../../docs/man"
pages=(*.[1-9])
[ -f "${pages[0]}" ]
mandoc -T lint -W warning "${pages[@]}"
echo "${#pages[@]} man pages are clean"
