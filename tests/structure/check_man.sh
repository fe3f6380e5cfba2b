#!/usr/bin/env bash
# Checks that every man page is clean mdoc. mandoc also warns of cross-references to pages that are
# not installed here, but as "style", which is below the level requested.
set -euo pipefail
cd "$(dirname "$0")/../../docs/man"
pages=(*.[1-9])
[ -f "${pages[0]}" ]
mandoc -T lint -W warning "${pages[@]}"
echo "${#pages[@]} man pages are clean"
