"""A disk with a plain Debian for the machine under test, made from this machine's own package
sources; or a prepared one, which also has our packages' dependencies, because installing them
takes an emulated machine two minutes.

Kept in the cache folder (LAGTRAP_CACHE_DIR, or lagtrap in the user's cache folder) by a hash of
its ingredients, so that a change of this file, of the guest's files or of our packages'
dependencies makes a new one.
"""

import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
SUITES = {"debian12": "bookworm", "debian13": "trixie"}
DISK_SIZE = "3G"
PACKAGES = (
    "systemd",
    "systemd-sysv",
    "udev",
    "dbus",
    "linux-image-cloud-amd64",
    "initramfs-tools",
    "zstd",
    "ca-certificates",
)
# Packages that docs/server.md installs besides ours.
WALKED_WITH = ("curl",)
# Network and clock services that a test does not want to run by themselves.
MASKED = (
    "apt-daily.timer",
    "apt-daily-upgrade.timer",
    "e2scrub_all.timer",
    "fstrim.timer",
    "systemd-timesyncd.service",
    "serial-getty@ttyS0.service",
    "man-db.timer",
    "e2scrub_reap.service",
    "dpkg-db-backup.timer",
)


def cache_folder():
    named = os.environ.get("LAGTRAP_CACHE_DIR")
    return (
        pathlib.Path(named)
        if named
        else (
            pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache")
            / "lagtrap"
        )
    )


def own_suite():
    release = dict(line.rstrip().split("=", 1) for line in open("/etc/os-release") if "=" in line)
    return release.get("VERSION_CODENAME", "").strip('"')


def sources_of(suite):
    """This machine's own package sources, adapted to another release, as lines of a
    sources.list."""
    own = own_suite()
    suites = {f"{own}{part}": f"{suite}{part}" for part in ("", "-updates", "-security")}
    stanzas = []
    for path in sorted(pathlib.Path("/etc/apt/sources.list.d").glob("*.sources")):
        for stanza in re.split(r"\n\s*\n", path.read_text()):
            fields = {
                name.lower(): value.strip()
                for name, value in re.findall(r"^([\w-]+):(.*)$", stanza, re.M)
            }
            named = [suites[name] for name in fields.get("suites", "").split() if name in suites]
            if (
                named
                and "deb" in fields.get("types", "").split()
                and fields.get("enabled", "yes").lower() != "no"
            ):
                signed = fields.get("signed-by", "/usr/share/keyrings/debian-archive-keyring.gpg")
                for uri in fields["uris"].split():
                    stanzas += [f"deb [signed-by={signed}] {uri} {name} main" for name in named]
    lists = [
        pathlib.Path("/etc/apt/sources.list"),
        *sorted(pathlib.Path("/etc/apt/sources.list.d").glob("*.list")),
    ]
    for path in lists:
        for line in path.read_text().splitlines() if path.exists() else ():
            found = re.match(r"deb\s+(?:\[[^]]*\]\s+)?(\S+)\s+(\S+)\s", line)
            if found and found.group(2) in suites:
                stanzas.append(
                    "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] "
                    f"{found.group(1)} {suites[found.group(2)]} main"
                )
    if not stanzas:
        raise RuntimeError(
            f"no package source of Debian's {own} in /etc/apt: none to take {suite} from"
        )
    return "\n".join(dict.fromkeys(stanzas)) + "\n"


def apt_proxies():
    """Options of this machine's apt that say how to reach packages."""
    dump = subprocess.run(
        ["apt-config", "dump", "Acquire"], capture_output=True, text=True, check=True
    ).stdout
    return [
        f"--aptopt={line}"
        for line in dump.splitlines()
        if re.match(r'Acquire::[\w:]*Proxy\S* "[^"]', line)
    ]


def dependencies_of(packages):
    """All dependencies of our packages on Debian's, in one list."""
    needed = []
    for package in packages:
        fields = subprocess.run(
            ["dpkg-deb", "-f", package, "Pre-Depends", "Depends"],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for value in re.findall(r"^[\w-]+: (.*)$", fields, re.M):
            needed += [part.strip() for part in value.split(",")]
    return sorted({part for part in needed if not part.startswith("lagtrap")})


CUSTOMIZE = r"""#!/bin/sh
# The root of the new system is $1.
set -e
printf '%s\n' "$DEPENDENCIES" >"$1/opt/dependencies"
satisfy() {
  chroot "$1" sh -c \
    "xargs -d '\n' apt-get -y --no-install-recommends $2 satisfy </opt/dependencies"
}
if [ "$PREPARED" = yes ]; then
  satisfy "$1" ""
  chroot "$1" sh -c 'apt-mark showauto | xargs -r apt-mark -qq manual'
  rm -f "$1"/var/cache/apt/archives/*.deb
else
  satisfy "$1" --download-only
fi
rm -f "$1/opt/dependencies"
chroot "$1" apt-get -y --no-install-recommends --download-only install $WALKED_WITH
mkdir -p "$1/opt/packages" "$1/opt/test"
mv "$1"/var/cache/apt/archives/*.deb "$1/opt/packages/"
(cd "$1/opt/packages" && dpkg-scanpackages --multiversion . >Packages 2>/dev/null)
cp "$GUEST/agent" "$1/opt/test/agent"
chmod 755 "$1/opt/test/agent"
cp "$GUEST/agent.service" "$1/etc/systemd/system/test-agent.service"
cp "$GUEST/network" "$1/etc/systemd/network/50-ether.network"
chroot "$1" systemctl -q enable test-agent.service systemd-networkd.service
for unit in $MASKED; do ln -sf /dev/null "$1/etc/systemd/system/$unit"; done
echo '/dev/vda / ext4 defaults 0 1' >"$1/etc/fstab"
echo lagtrap-test >"$1/etc/hostname"
printf '127.0.0.1 localhost\n127.0.1.1 lagtrap-test\n' >"$1/etc/hosts"
: >"$1/etc/machine-id"
rm -rf "$1"/etc/apt/sources.list "$1"/etc/apt/sources.list.d/*
"""

BEFORE_KERNEL = r"""#!/bin/sh
# A small initial file system, which unpacks quickly on an emulated processor.
set -e
mkdir -p "$1/etc/initramfs-tools/conf.d"
printf 'MODULES=list\nCOMPRESS=zstd\nRESUME=none\nFSTYPE=ext4\n' \
  >"$1/etc/initramfs-tools/conf.d/small"
printf 'virtio_pci\nvirtio_blk\nvirtio_net\n' >"$1/etc/initramfs-tools/modules"
"""


def hook(folder, name, text):
    path = folder / name
    path.write_text(text)
    path.chmod(0o755)
    return f'{path} "$1"'


def make(suite, target, dependencies, prepared):
    """Makes disk, kernel and initial file system in the folder `target`."""
    with tempfile.TemporaryDirectory(prefix="lagtrap-image-") as name:
        folder = pathlib.Path(name)
        folder.chmod(0o755)
        (folder / "sources").write_text(sources_of(suite))
        environment = {
            **os.environ,
            "DEPENDENCIES": "\n".join(dependencies),
            "GUEST": str(HERE / "guest"),
            "WALKED_WITH": " ".join(WALKED_WITH),
            "PREPARED": "yes" if prepared else "no",
            "MASKED": " ".join(MASKED),
            "LC_ALL": "C.UTF-8",
        }
        command = [
            "mmdebstrap",
            "--quiet",
            "--variant=minbase",
            f"--include={','.join(PACKAGES)}",
            "--dpkgopt=path-exclude=/usr/share/doc/*",
            "--dpkgopt=path-exclude=/usr/share/locale/*",
            "--dpkgopt=force-unsafe-io",
            *apt_proxies(),
            f"--essential-hook={hook(folder, 'before-kernel', BEFORE_KERNEL)}",
            f"--customize-hook={hook(folder, 'customize', CUSTOMIZE)}",
            suite,
            str(folder / "root"),
            str(folder / "sources"),
        ]
        done = subprocess.run(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=1500,
        )
        if done.returncode != 0:
            raise RuntimeError(
                f"mmdebstrap of {suite} ended with {done.returncode}:\n{done.stdout[-4000:]}"
            )
        target.mkdir(parents=True)
        root = folder / "root"
        for part in ("vmlinuz", "initrd.img"):
            shutil.copy(sorted((root / "boot").glob(f"{part}-*"))[-1], target / part)
        subprocess.run(
            ["mke2fs", "-q", "-t", "ext4", "-d", root, target / "disk.img", DISK_SIZE],
            check=True,
            stdout=subprocess.DEVNULL,
        )


def get(machine, packages, prepared):
    """The folder with the machine's disk.img, vmlinuz and initrd.img, and whether it was just
    made."""
    dependencies = dependencies_of(packages)
    guest = b"".join(path.read_bytes() for path in sorted((HERE / "guest").iterdir()))
    parts = (
        SUITES[machine].encode(),
        pathlib.Path(__file__).read_bytes(),
        guest,
        "\n".join(dependencies).encode(),
    )
    key = hashlib.sha256(b"\0".join(parts)).hexdigest()[:16]
    folder = cache_folder() / "system"
    name = f"{machine}-prepared" if prepared else machine
    ready = folder / f"{name}-{key}"
    if ready.exists():
        return ready, False
    folder.mkdir(parents=True, exist_ok=True)
    unfinished = folder / f"{name}-{key}.{os.getpid()}.part"
    try:
        make(SUITES[machine], unfinished, dependencies, prepared)
        os.rename(unfinished, ready)
    except OSError:
        if not ready.exists():  # another run may have made it at the same time
            raise
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
    # Keep one of each machine.
    for old in folder.glob(f"{name}-{'?' * len(key)}"):
        if old != ready:
            shutil.rmtree(old, ignore_errors=True)
    return ready, True
