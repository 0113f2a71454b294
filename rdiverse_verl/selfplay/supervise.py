"""Run a command so that nothing of it outlives whoever asked for it.

``python -m rdiverse_verl.selfplay.supervise PARENT_PID COMMAND...`` runs COMMAND as a child and adopts whatever its
descendants orphan (Ray starts daemons). When the command ends, when the parent dies (also by kill -9) or on SIGTERM,
every descendant is ended by its process id.
"""

import ctypes
import os
import secrets
import signal
import subprocess
import sys
from pathlib import Path
from types import FrameType

import psutil

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
GRACE_S = 5.0
MARK = "RDIVERSE_SUPERVISED"

_marks: dict[int, str] = {}  # supervisor's pid -> the mark of all it started


def start(command: list[str], log: Path, env: dict[str, str]) -> subprocess.Popen[bytes]:
    """Start ``command`` under supervision of this process; its output is appended to ``log``."""
    log.parent.mkdir(parents=True, exist_ok=True)
    mark = secrets.token_hex(8)
    with log.open("ab") as handle:
        process = subprocess.Popen(
            [sys.executable, "-m", __spec__.name, str(os.getpid()), *command],
            stdin=subprocess.DEVNULL,
            stdout=handle,
            stderr=subprocess.STDOUT,
            env={**env, MARK: mark},
            start_new_session=True,  # Ctrl-C reaches the driver alone, which then stops its children in order
        )
    _marks[process.pid] = mark
    return process


def stop(process: subprocess.Popen[bytes]) -> None:
    """End a supervised command and wait until all of it is gone."""
    if process.poll() is None:
        process.terminate()
    mark = _marks.pop(process.pid, None)
    if process.wait() < 0 and mark:  # the supervisor itself was killed, and could end nothing
        _kill_marked(mark)


def _kill_marked(mark: str) -> None:
    """End what still runs in the environment that a killed supervisor gave its command."""
    for process in psutil.process_iter():
        try:
            if process.environ().get(MARK) == mark:
                process.kill()
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            continue  # it has ended by itself, or is somebody else's


def _supervise(parent: int, command: list[str]) -> int:
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    signal.signal(signal.SIGTERM, _leave)
    prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    if os.getppid() != parent:  # it died before the line above
        return 1
    try:
        return subprocess.Popen(command, start_new_session=True).wait()
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        _end_descendants()


def _leave(signum: int, frame: FrameType | None) -> None:
    raise SystemExit(128 + signum)


def _end_descendants() -> None:
    children = psutil.Process().children(recursive=True)
    for child in children:
        _signal(child, signal.SIGTERM)
    psutil.wait_procs(children, timeout=GRACE_S)
    while children := psutil.Process().children(recursive=True):  # what ignored SIGTERM, or was started meanwhile
        for child in children:
            _signal(child, signal.SIGKILL)
        psutil.wait_procs(children, timeout=GRACE_S)


def _signal(process: psutil.Process, signum: int) -> None:
    try:
        process.send_signal(signum)
    except psutil.NoSuchProcess:
        return  # it ended by itself in between, which is what we want


if __name__ == "__main__":
    sys.exit(_supervise(int(sys.argv[1]), sys.argv[2:]))
