#!/usr/bin/env bash
# rpms_test.sh BUILD_DIRECTORY: makes the RPM packages of a build and checks their contents without
# installing them.
set -euo pipefail
cd "$(dirname "$0")/../.."
output=$(mktemp -d)
trap 'rm -rf "$output"' EXIT
packaging/make_rpms "$1" "$output"

fail() { echo "$*" >&2; exit 1; }
package_file() { echo "$output/$1"-[0-9]*.rpm; }
# has PACKAGE PATH [config]: fails unless PATH is in the package, owned by root; with "config" it
# must be a configuration file.
has() {
  rpm -qp --qf '[%{FILENAMES} %{FILEUSERNAME} %{FILEFLAGS:fflags}\n]' "$(package_file "$1")" 2>/dev/null |
    awk -v path="$2" -v config="${3:-}" '$1 == path && $2 == "root" && (!config || $3 ~ /c.*n|n.*c/) {found = 1} END {exit !found}' ||
    fail "$1 lacks $2 ${3:-}"
}

has lagtrap /usr/bin/lagtrap
has lagtrapd /usr/sbin/lagtrapd
has lagtrapd /usr/libexec/lagtrap/lagtrap-merge
has lagtrapd /etc/lagtrap/settings.xml config
has lagtrapd /usr/share/lagtrap/settings.xsd
has lagtrapd /usr/lib/tmpfiles.d/lagtrapd.conf
has lagtrap-server /usr/lib/tmpfiles.d/lagtrap-server.conf
has lagtrap /usr/lib/systemd/system/lagtrap-metrics.service
has lagtrap /usr/lib/systemd/system/lagtrap-metrics.timer
has lagtrap /usr/lib/systemd/system/lagtrap-wall.service
has lagtrap /usr/lib/systemd/user/lagtrap-ask.service
has lagtrap-server /etc/default/lagtrap-server config
has lagtrap-devel /usr/include/lagtrap.h
for name in lagtrapd lagtrap-uploader lagtrap-server; do
  has "$name" "/usr/lib/systemd/system/$name.service"
  has "$name" "/usr/lib/sysusers.d/$name.conf"
  has "$name" "$(sed -n 's/^ExecStart=\([^ ]*\).*/\1/p' "packaging/systemd/$name.service")"
done
for file in "$output"/*.rpm; do
  ! rpm -qpl "$file" 2>/dev/null | grep -E '_tests$|planted_delays|burst$' || fail "${file##*/}: too much is packaged"
done

rpmlint -c packaging/rpm/rpmlint.toml packaging/rpm/lagtrap.spec "$output"/*.rpm >"$output/rpmlint" 2>&1 || true
grep -q ' packages and 1 specfiles checked; 0 errors' "$output/rpmlint" || { cat "$output/rpmlint" >&2; fail "rpmlint finds errors"; }
echo "$(ls "$output"/*.rpm | wc -l) packages are as they should be"
