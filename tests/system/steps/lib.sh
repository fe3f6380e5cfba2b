# Shared functions of the steps. A step exits with 0, or prints what is wrong and exits with 1.
set -uo pipefail
shopt -s nullglob

services="lagtrapd lagtrap-uploader lagtrap-server"
spool=/var/lib/lagtrap/spool
settings=/etc/lagtrap/settings.xml
state=/opt/test/state
mkdir -p "$state"

fail() {
  echo "FAILED: $*"
  journalctl -q -b -n 60 --no-pager -o short-monotonic -u 'lagtrap*' 2>/dev/null
  exit 1
}

# eventually SECONDS WHAT COMMAND...: repeats the command until it succeeds; fails after SECONDS.
eventually() {
  local deadline=$((SECONDS + $1)) what=$2
  shift 2
  until "$@"; do
    [ "$SECONDS" -lt "$deadline" ] || fail "waited in vain for $what"
    sleep 0.5
  done
}

# since_boot_ms: prints the milliseconds since boot, to measure how long something took.
since_boot_ms() {
  local up
  read -r up _ </proc/uptime
  echo $((10#${up/./} * 10))
}

# use_packages FOLDER: lets apt see only our packages in that folder and the Debian packages that
# they need.
use_packages() {
  printf 'deb [trusted=yes] file:/opt/packages ./\ndeb [trusted=yes] file:%s ./\n' "$1" >/etc/apt/sources.list
  apt-get -qq update || fail "apt-get update"
}

apt_do() {
  DEBIAN_FRONTEND=noninteractive apt-get -y -o Dpkg::Use-Pty=0 -o APT::Install-Recommends=false "$@" >"$state/apt.log" 2>&1 ||
    { cat "$state/apt.log"; fail "apt-get $*"; }
}

# write_settings URL [THRESHOLD [MORE]]: writes settings with one event; lagtrap may use the whole
# machine because it has one slow processor.
write_settings() {
  cat >"$settings" <<END
<?xml version="1.0" encoding="UTF-8"?>
<!-- edited by a person -->
<lagtrap version="1">
  <recording cool-down="0s" captures-per-hour="1000" sample-interval="20ms"/>
  <budget share="100%" recording-share="100%"/>
  <upload url="$1" ${3:-}/>
  <spool path="$spool"/>
  <event name="work" threshold="${2:-400ms}" trace-length="2s">
    <library binary="/opt/planted_delays"><stage name="prepare"/><stage name="execute"/><stage name="finish"/></library>
  </event>
</lagtrap>
END
}

# get PATH: prints the answer of the server on this machine.
get() {
  exec 9<>/dev/tcp/127.0.0.1/7788 || return 1
  printf 'GET %s HTTP/1.1\r\nHost: 127.0.0.1:7788\r\nConnection: close\r\n\r\n' "$1" >&9
  cat <&9
  exec 9<&-
} 2>/dev/null

bundles_parsed() { get '/api/v1/bundles?limit=500' | grep -oE '"parsed": ?true' | wc -l; }
has_bundles() { [ "$(bundles_parsed)" -ge "$1" ]; }
server_answers() { get /healthz | grep -q '200 OK'; }
is_active() { systemctl -q is-active "$1"; }
is_armed() { lagtrap status 2>/dev/null | grep -qE '^ *work .*' && ! lagtrap status | grep -qE '^ *work .* (off|disabled|arming)$'; }
recordings() { lagtrap metrics | sed -n 's/^lagtrap_captures_total{[^}]*done[^}]*} //p'; }

threshold_is() { lagtrap status | grep -qE "^ *work +$1 "; }
# metric NAME: prints this metric of the event.
metric() { lagtrap metrics | sed -n "s/^lagtrap_$1{[^}]*event=\"work\"[^}]*} //p"; }

# change_event EXPRESSION: edits the event in the settings with sed.
change_event() { sed -i "/<event /$1" "$settings"; }
# reload_daemon THRESHOLD: reloads and waits until the settings with this threshold, written as
# lagtrap status shows it, are in force.
reload_daemon() {
  systemctl reload lagtrapd || fail "reload"
  eventually 300 "the threshold of $1" threshold_is "$1"
  eventually 300 "the event to be armed" is_armed
}

# How often the daemon logged that CPUs came back, and whether that is more often than COUNT.
times_cpus_came() { journalctl -q -b -u lagtrapd -o cat | grep -c 'CPUs came online'; }
cpus_came() { [ "$(times_cpus_came)" -gt "$1" ]; }

# After events were lost the daemon scans all processes again; processes that start during the scan
# are known afterwards.
times_looked_anew() { lagtrap status --json | grep -o '"scans": *[0-9]*' | grep -o '[0-9]*$'; }
looked_anew() { [ "$(times_looked_anew)" -gt "$1" ]; }

# plant: runs a program with a delay of 1.5 s, which ends up as a bundle in the spool.
plant() {
  /opt/planted_delays --kind sleep --fast 20 --slow-ms 1500 >"$state/planted.json" || fail "the planted program"
  echo "planted: $(head -c 300 "$state/planted.json")"
}
# plant_and_report KIND MILLISECONDS [COMMAND...]: the same with another delay, run by COMMAND.
# Prints the program's output and the report for the test to check. Works only while the uploader is
# stopped, as it would take the bundle away.
plant_and_report() {
  local kind=$1 slow=$2 count
  shift 2
  count=$(bundles_in ready)
  "$@" /opt/planted_delays --kind "$kind" --fast 5 --slow-ms "$slow" >"$state/planted.json" || fail "the planted program"
  report_after "$count"
}
# report_after COUNT: waits for one more bundle than COUNT and prints its report.
report_after() {
  local all
  eventually 300 "a bundle" has_in ready $(($1 + 1))
  all=$(ls -t "$spool"/ready/*.tar.zst)
  echo "data report $(lagtrap report --json "${all%%$'\n'*}")"
  echo "data planted $(cat "$state/planted.json")"
}
bundles_in() { local all=("$spool/$1"/*.tar.zst); echo "${#all[@]}"; }
has_in() { [ "$(bundles_in "$1")" -ge "$2" ]; }
# list_spool FILE: writes the names of the bundles in the spool. Stops the uploader meanwhile
# because it moves them.
list_spool() {
  local uploader
  uploader=$(systemctl show -P MainPID lagtrap-uploader)
  if [ "$uploader" != 0 ]; then
    kill -STOP "$uploader"
    eventually 60 "the uploader to stand still" grep -q '^State:.*stopped' "/proc/$uploader/status"
  fi
  find "$spool" -name '*.tar.zst' -printf '%f\n' | sort >"$1"
  [ "$uploader" = 0 ] || kill -CONT "$uploader"
}

# Prints the paths of all files except those that packages or the running system keep changing.
list_files() {
  find / -xdev \( -path /proc -o -path /sys -o -path /dev -o -path /run -o -path /tmp -o -path /var/tmp -o -path /mnt \
    -o -path /var/log -o -path /var/lib/dpkg -o -path /var/lib/apt -o -path /var/cache -o -path /opt/test -o -path /var/lib/systemd \
    -o -path /etc/apt -o -path /etc/ld.so.cache \) -prune -o -print | sort
}
