#!/bin/sh
# radosgw.sh start FOLDER: starts a small Ceph with an S3 gateway in FOLDER and prints the gateway's
# address. Account AKTEST, secret SKTEST. Exits with 77 and prints the reason if this machine cannot
# run it. radosgw.sh stop FOLDER stops it.
set -eu
D=$2
# True while the process runs; a zombie has no executable any more.
alive() { [ -s "$1" ] && [ -e "/proc/$(cat "$1")/exe" ]; }
if [ "$1" = stop ]; then
  for file in "$D"/*.pid; do
    [ -s "$file" ] && kill "$(cat "$file")" 2>/dev/null || true
  done
  for file in "$D"/*.pid; do
    tries=0
    while alive "$file"; do
      tries=$((tries + 1))
      [ $tries -lt 20 ] || { kill -9 "$(cat "$file")" 2>/dev/null; break; }
      sleep 0.1
    done
  done
  exit 0
fi
for program in ceph-mon ceph-osd radosgw radosgw-admin monmaptool; do
  command -v "$program" >/dev/null || { echo "SKIP: $program is not installed"; exit 77; }
done
[ "$(id -u)" -eq 0 ] || { echo "SKIP: Ceph needs root here"; exit 77; }
free_port() {
  python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}
mon_port=$(free_port)
rgw_port=$(free_port)
fsid=$(cat /proc/sys/kernel/random/uuid)
osd=$(cat /proc/sys/kernel/random/uuid)
mkdir -p "$D/mon" "$D/osd" "$D/rgw" "$D/log"
cat >"$D/ceph.conf" <<C
[global]
fsid = $fsid
mon host = v1:127.0.0.1:$mon_port
ms bind msgr2 = false
auth cluster required = none
auth service required = none
auth client required = none
osd pool default size = 1
osd pool default min size = 1
osd pool default pg num = 1
osd pool default pgp num = 1
osd crush chooseleaf type = 0
mon allow pool size one = true
osd pool default pg autoscale mode = off
run dir = $D
log file = $D/log/\$name.log
admin socket = $D/\$name.asok
pid file = $D/\$name.pid
[mon]
mon data = $D/mon
mon data avail crit = 1
[osd]
osd data = $D/osd
osd objectstore = memstore
memstore device bytes = 1073741824
osd class load list = *
osd class default list = *
public addr = 127.0.0.1
cluster addr = 127.0.0.1
[client]
rgw frontends = beast endpoint=127.0.0.1:$rgw_port
rgw data = $D/rgw
C
{
  monmaptool --create --fsid "$fsid" --addv a "[v1:127.0.0.1:$mon_port]" "$D/monmap"
  ceph-mon -c "$D/ceph.conf" -i a --mkfs --monmap "$D/monmap" --setuser root --setgroup root
  ceph-mon -c "$D/ceph.conf" -i a --setuser root --setgroup root
  tries=0
  until ceph -c "$D/ceph.conf" --connect-timeout 5 mon stat; do
    tries=$((tries + 1))
    [ $tries -lt 100 ] || exit 1
    sleep 0.2
  done
  ceph -c "$D/ceph.conf" osd new "$osd"
  ceph-osd -c "$D/ceph.conf" -i 0 --mkfs --osd-uuid "$osd"
  # ceph-osd exits with "wrong fsid" if it contacts the monitor before the monitor has its map. This
  # is a race in Ceph, hence the restarts.
  tries=0
  until ceph -c "$D/ceph.conf" osd stat | grep -q '1 up'; do
    alive "$D/osd.0.pid" || ceph-osd -c "$D/ceph.conf" -i 0
    tries=$((tries + 1))
    [ $tries -lt 50 ] || exit 1
    sleep 0.3
  done
  radosgw -c "$D/ceph.conf" -n client.rgw.a
  tries=0
  until curl -so /dev/null "http://127.0.0.1:$rgw_port/"; do
    tries=$((tries + 1))
    [ $tries -lt 200 ] || exit 1
    sleep 0.3
  done
  radosgw-admin -c "$D/ceph.conf" user create --uid=test --display-name=test --access-key=AKTEST --secret-key=SKTEST
} >"$D/log/start" 2>&1 </dev/null || { tail -5 "$D/log/start" | tr '\n' ' '; exit 1; }
echo "http://127.0.0.1:$rgw_port"
