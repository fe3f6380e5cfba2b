"""A disk request is on no thread: its time is the device's, and no other thread is named for it."""

import os
import subprocess

from lagtrap_test import BUILD_DIR, LAGTRAP, Daemon, check, report, run, skip, wait_for

# From when the kernel passes a request to the driver until the device has done it, whichever thread
# its interrupt hits.
EVENT = (
    '<event name="disk" threshold="1us" trace-length="500ms" breach="end"><key scope="machine"/>'
    '<begin tracepoint="block:block_rq_issue" key="dev,sector"/>'
    '<end tracepoint="block:block_rq_complete" key="dev,sector"/></event>'
)


def write_to_disk(path):
    with open(path, "wb") as file:
        file.write(os.urandom(1 << 16))
        file.flush()
        os.fsync(file.fileno())


def request_in_the_device():
    device = os.stat(BUILD_DIR).st_dev
    if not os.path.exists(f"/sys/dev/block/{os.major(device)}:{os.minor(device)}"):
        skip(f"{BUILD_DIR} is on no disk")
    with Daemon(EVENT) as daemon:
        path = BUILD_DIR / f"disk-queue-{os.getpid()}"
        try:

            def recorded():
                write_to_disk(path)
                return daemon.status()["captures"]["done"] >= 1

            wait_for(recorded, "a recording while requests are made")
        finally:
            path.unlink(missing_ok=True)
        bundle = daemon.bundles()[0]
        delays = [delay for delay in report(bundle)["delays"] if not delay["open"]]
        inside = [delay for delay in delays if delay["split"]["outside_recording_ns"] == 0]
        check(inside, f"no request within the recording: {len(delays)} delays")
        for delay in inside:
            split = delay["split"]
            check(
                [part["reason"] for part in split["blocked"]] == ["in the device's queue"],
                f"{split}",
            )
            check(split["blocked_ns"] == split["wall_ns"] == delay["duration_ns"], f"{split}")
            check(delay["wakers"] == [], f"somebody is named for it: {delay['wakers']}")
        text = subprocess.run(
            [LAGTRAP, "report", "--delay", str(inside[0]["number"]), bundle],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        check("in the device's queue" in text and "100 %" in text, text)


if __name__ == "__main__":
    run(request_in_the_device)
