#!/usr/bin/env bash
# packages_test.sh BUILD_DIRECTORY: makes the Debian packages of a build in its folder "packages"
# and checks their contents without installing them. The tests in tests/system install them.
set -euo pipefail
cd "$(dirname "$0")/../.."
output=$(readlink -f "$1")/packages
rm -rf "$output"
packaging/make_packages "$1" "$output"

fail() { echo "$*" >&2; exit 1; }
package_file() { echo "$output/$1"_[0-9]*.deb; }
# has PACKAGE MODE PATH: fails unless PATH is in the package, owned by root, with this mode.
has() {
  dpkg-deb -c "$(package_file "$1")" | awk -v mode="$2" -v path="./$3" '
    $1 == mode && $2 == "root/root" && $6 == path {found = 1} END {exit !found}' || fail "$1 lacks $2 $3"
}

has lagtrap -rwxr-xr-x usr/bin/lagtrap
has lagtrap -rw-r--r-- usr/share/bash-completion/completions/lagtrap
has lagtrap -rw-r--r-- usr/share/man/man1/lagtrap.1.gz
has lagtrapd -rwxr-xr-x usr/sbin/lagtrapd
has lagtrapd -rwxr-xr-x usr/libexec/lagtrap/lagtrap-merge
has lagtrapd -rw-r--r-- etc/lagtrap/settings.xml
has lagtrapd -rw-r--r-- usr/share/lagtrap/settings.xsd
has lagtrapd -rw-r--r-- usr/share/man/man5/lagtrap-settings.5.gz
has lagtrapd -rw-r--r-- usr/lib/sysusers.d/lagtrapd.conf
has lagtrapd -rw-r--r-- usr/lib/tmpfiles.d/lagtrapd.conf
has lagtrap -rw-r--r-- lib/systemd/system/lagtrap-metrics.service
has lagtrap -rw-r--r-- lib/systemd/system/lagtrap-metrics.timer
has lagtrap -rw-r--r-- lib/systemd/system/lagtrap-wall.service
has lagtrap -rw-r--r-- usr/lib/systemd/user/lagtrap-ask.service
has lagtrap-uploader -rwxr-xr-x usr/bin/lagtrap-uploader
has lagtrap-uploader -rw-r--r-- usr/lib/sysusers.d/lagtrap-uploader.conf
has lagtrap-server -rwxr-xr-x usr/bin/lagtrap-server
has lagtrap-server -rw-r--r-- usr/lib/tmpfiles.d/lagtrap-server.conf
has lagtrap-server -rw-r--r-- etc/default/lagtrap-server
has lagtrap-dev -rw-r--r-- usr/include/lagtrap.h
has lagtrap-dev -rw-r--r-- usr/share/man/man3/lagtrap.h.3.gz

for package in lagtrapd lagtrap-uploader lagtrap-server; do
  has "$package" -rw-r--r-- "lib/systemd/system/$package.service"
  program=$(sed -n 's/^ExecStart=\([^ ]*\).*/\1/p' "packaging/systemd/$package.service")
  has "$package" -rwxr-xr-x "${program#/}"
done

# Settings that a user edited survive an upgrade.
dpkg-deb --info "$(package_file lagtrapd)" conffiles | grep -qx /etc/lagtrap/settings.xml || fail "settings.xml is no conffile"
dpkg-deb --info "$(package_file lagtrap-server)" conffiles | grep -qx /etc/default/lagtrap-server ||
  fail "the server's options are no conffile"
# Users are created before the folders that they own.
for package in lagtrapd lagtrap-server; do
  dpkg-deb --info "$(package_file "$package")" postinst |
    awk '/systemd-sysusers/ {users = NR} /systemd-tmpfiles/ {folders = NR} END {exit !(users && folders && users < folders)}' ||
    fail "$package's postinst makes folders before users"
done
# Debian 12 without backports has libbpf 1.1, so the package must not depend on libbpf.
dpkg-deb -f "$(package_file lagtrapd)" Depends | grep -q 'libc6' || fail "lagtrapd depends on nothing"
! dpkg-deb -f "$(package_file lagtrapd)" Depends | grep -q 'libbpf' || fail "lagtrapd depends on libbpf"
# Shared libraries whose package name differs between Debian releases are linked statically.
for file in "$output"/*.deb; do
  ! dpkg-deb -f "$file" Depends | grep -oE 'lib(boost|fmt|spdlog|capstone)[^ ,]*' || fail "${file##*/} fits one release of Debian alone"
done
# Test programs, examples and benchmarks are not packaged.
for file in "$output"/*.deb; do
  ! dpkg-deb -c "$file" | grep -E '_tests$|planted_delays|burst$' || fail "${file##*/}: too much is packaged"
done

lintian --allow-root --fail-on error --suppress-tags bogus-mail-host "$output"/*.changes
echo "$(ls "$output"/*.deb | wc -l) packages are as they should be"
