"""Nothing that a driver starts outlives it: not on a normal end, not when it is stopped, not when it is killed."""

import os
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from rdiverse_verl.selfplay import supervise

# A child that leaves a daemon behind, in a session of its own, that ignores SIGTERM.
FAMILY = """
import os, signal, subprocess, sys, time
daemon = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('up', flush=True); time.sleep(300)"
child = subprocess.Popen([sys.executable, "-c", daemon], start_new_session=True, stdout=subprocess.PIPE)
child.stdout.readline()
with open(sys.argv[1] + ".new", "w") as handle:
    handle.write(f"{os.getpid()} {child.pid}")
os.rename(sys.argv[1] + ".new", sys.argv[1])
time.sleep(float(sys.argv[2]))
"""


def start_family(folder: Path, seconds: float) -> tuple[subprocess.Popen[bytes], list[int]]:
    command = [sys.executable, "-c", FAMILY, str(folder / "pids"), str(seconds)]
    process = supervise.start(command, folder / "log", dict(os.environ))
    return process, wait_for_pids(folder / "pids")


def wait_for_pids(file: Path) -> list[int]:
    deadline = time.monotonic() + 30
    while not file.is_file():
        assert time.monotonic() < deadline, "the family did not start"
        time.sleep(0.02)
    return [int(pid) for pid in file.read_text().split()]


def assert_gone(pids: list[int], within_s: float) -> None:
    deadline = time.monotonic() + within_s
    while alive := [pid for pid in pids if psutil.pid_exists(pid)]:
        assert time.monotonic() < deadline, f"still alive: {alive}"
        time.sleep(0.05)


def test_a_daemon_left_behind_ends_with_the_command(tmp_path: Path) -> None:
    process, pids = start_family(tmp_path, seconds=0)
    assert process.wait(timeout=30) == 0
    assert_gone(pids, within_s=1)


def test_stop_ends_everything(tmp_path: Path) -> None:
    process, pids = start_family(tmp_path, seconds=300)
    supervise.stop(process)
    assert_gone([process.pid, *pids], within_s=1)


def test_everything_ends_when_the_driver_is_killed(tmp_path: Path) -> None:
    command = [sys.executable, "-c", FAMILY, str(tmp_path / "pids"), "300"]
    driver = (
        "import os, time; from pathlib import Path; from rdiverse_verl.selfplay import supervise\n"
        f"supervise.start({command!r}, Path({str(tmp_path / 'log')!r}), dict(os.environ)); time.sleep(300)"
    )
    parent = subprocess.Popen([sys.executable, "-c", driver])
    pids = wait_for_pids(tmp_path / "pids")
    parent.kill()
    parent.wait()
    assert_gone(pids, within_s=15)


def test_everything_ends_when_the_supervisor_is_killed(tmp_path: Path) -> None:
    process, pids = start_family(tmp_path, seconds=300)
    process.kill()
    supervise.stop(process)
    assert_gone(pids, within_s=2)


@pytest.mark.parametrize("code", [0, 3])
def test_the_exit_code_and_output_are_the_commands(tmp_path: Path, code: int) -> None:
    command = [sys.executable, "-c", f"print('said'); raise SystemExit({code})"]
    process = supervise.start(command, tmp_path / "log", dict(os.environ))
    assert process.wait(timeout=30) == code
    assert (tmp_path / "log").read_text() == "said\n"
