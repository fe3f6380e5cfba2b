"""The BPF programs load on the kernels of Debian's releases, as they are and with everything that
lagtrapd may switch on: each kernel is booted with only the objects and a program that loads them.
That takes a minute, where a whole machine takes a quarter of an hour. test_kernels.py [MACHINE...]:
all of image.SUITES, unless some are named."""

import hashlib
import os
import pathlib
import shutil
import stat
import subprocess
import sys
import tempfile

import image

BUILD = pathlib.Path(os.environ.get("LAGTRAP_BUILD_DIR", "build/ci")).resolve()
SOURCE = pathlib.Path(__file__).resolve().parents[2]
TOOLS = ("qemu-system-x86_64", "mmdebstrap")
SECONDS = 600


def kernel_of(machine):
    """The file of the release's kernel, kept in the cache folder."""
    suite = image.SUITES[machine]
    key = hashlib.sha256(pathlib.Path(__file__).read_bytes() + suite.encode()).hexdigest()[:16]
    kept = image.cache_folder() / "system" / f"kernel-{machine}-{key}"
    if kept.exists():
        return kept
    kept.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="lagtrap-kernel-") as name:
        folder = pathlib.Path(name)
        folder.chmod(0o755)
        (folder / "sources").write_text(image.sources_of(suite))
        done = subprocess.run(
            [
                "mmdebstrap",
                "--quiet",
                "--variant=extract",
                "--include=linux-image-cloud-amd64",
                *image.apt_proxies(),
                suite,
                folder / "root",
                folder / "sources",
            ],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=1500,
        )
        if done.returncode != 0:
            print(
                f"skipped: the kernel of {suite} cannot be fetched: mmdebstrap ended with "
                f"{done.returncode}\n{done.stdout[-4000:]}"
            )
            sys.exit(77)
        unfinished = kept.with_suffix(f".{os.getpid()}.part")
        shutil.copy(max((folder / "root" / "boot").glob("vmlinuz-*")), unfinished)
        os.rename(unfinished, kept)
    return kept


def archive(entries):
    """An initial file system: cpio's "newc" (Linux,
    Documentation/driver-api/early-userspace/buffer-format.rst)."""
    parts = []
    for number, (name, mode, content) in enumerate([*entries, ("TRAILER!!!", 0, b"")], 1):
        encoded = name.encode() + b"\0"
        fields = (number, mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(encoded), 0)
        head = b"070701" + b"".join(b"%08x" % field for field in fields) + encoded
        parts += [head, bytes(-len(head) % 4), content, bytes(-len(content) % 4)]
    return b"".join(parts)


def boot(kernel, initial, folder):
    """Returns the console output."""
    console = folder / "console"
    subprocess.run(
        [
            "qemu-system-x86_64",
            "-accel",
            "tcg",
            "-cpu",
            "max",
            "-m",
            "512M",
            "-display",
            "none",
            "-no-user-config",
            "-nodefaults",
            "-no-reboot",
            "-kernel",
            kernel,
            "-initrd",
            initial,
            "-append",
            "console=ttyS0 quiet panic=-1 rdinit=/init",
            "-serial",
            f"file:{console}",
        ],
        stdin=subprocess.DEVNULL,
        check=True,
        timeout=SECONDS,
    )
    return console.read_text(errors="replace")


def check(machine, objects, folder):
    initial = folder / "initial"
    files = [
        ("objects", stat.S_IFDIR | 0o755, b""),
        ("dev", stat.S_IFDIR | 0o755, b""),
        ("init", stat.S_IFREG | 0o755, (BUILD / "tests" / "system" / "load_objects").read_bytes()),
    ]
    files += [(f"objects/{path.name}", stat.S_IFREG | 0o644, path.read_bytes()) for path in objects]
    initial.write_bytes(archive(files))
    said = boot(kernel_of(machine), initial, folder)
    lines = said.splitlines()
    missing = [path.name for path in objects if f"loaded {path.name}" not in lines]
    if missing or "all were tried" not in lines:
        print(f"{machine}: not loaded: {', '.join(missing)}\n{said[-8000:]}")
        return False
    print(f"{machine}: {len(objects)} objects load")
    return True


def main():
    missing = [tool for tool in TOOLS if shutil.which(tool) is None]
    if missing:
        print(f"skipped: not installed: {', '.join(missing)}; ./dev setup installs them")
        return 77
    objects = sorted((BUILD / "bpf").glob("*.bpf.o"))
    sources = sorted(path.name for path in (SOURCE / "bpf").glob("*.bpf.c"))
    built = [path.name.removesuffix("o") + "c" for path in objects]
    assert built == sources, f"{BUILD / 'bpf'} has objects of {built}; expected {sources}"
    good = True
    for machine in sys.argv[1:] or image.SUITES:
        with tempfile.TemporaryDirectory(prefix="lagtrap-boot-") as name:
            good = check(machine, objects, pathlib.Path(name)) and good
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
