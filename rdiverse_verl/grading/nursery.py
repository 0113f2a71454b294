"""A process that has sympy loaded and forks workers on request, so that a killed one is replaced in milliseconds.

It talks to its owner over one socket: ``F`` with a socket attached forks a worker that serves that socket; ``K`` with a
pid ends one, without a reply. It ends, and its workers with it, when its owner is gone. One thread, no locks: it may
fork.
"""

import ctypes
import gc
import os
import resource
import select
import signal
import socket
import struct
import sys

REQUEST = struct.Struct("!cq")
REPLY = struct.Struct("!q")

_OWNER_CHECK_S = 0.5
_PR_SET_PDEATHSIG = 1


def main(control_fd: str, seconds: str, mebibytes: str) -> None:
    """Serve until the owner is gone. The arguments come from a command line."""
    owner = os.getppid()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole terminal; the owner decides
    from rdiverse_verl.grading import worker

    worker.warm_up()
    gc.collect()
    gc.freeze()
    control = socket.socket(fileno=int(control_fd))
    control.sendall(REPLY.pack(os.getpid()))
    children: set[int] = set()
    try:
        while os.getppid() == owner:
            _reap(children)
            if not select.select([control], [], [], _OWNER_CHECK_S)[0]:
                continue
            message, sockets, _, _ = socket.recv_fds(control, REQUEST.size, 1)
            if len(message) < REQUEST.size:
                return
            request, pid = REQUEST.unpack(message)
            if request == b"F":
                control.sendall(REPLY.pack(_fork(control, sockets[0], children, float(seconds), int(mebibytes))))
            else:
                _end(pid, children)
    finally:
        for pid in tuple(children):
            _end(pid, children)


def _fork(control: socket.socket, job_fd: int, children: set[int], seconds: float, mebibytes: int) -> int:
    pid = os.fork()
    if pid:
        os.close(job_fd)
        children.add(pid)
        return pid
    status = 1
    try:
        control.close()
        if sys.platform == "linux":
            ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        resource.setrlimit(resource.RLIMIT_AS, (mebibytes << 20, mebibytes << 20))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        from rdiverse_verl.grading import worker

        worker.serve(socket.socket(fileno=job_fd), seconds, mebibytes)
        status = 0
    finally:
        os._exit(status)


def _end(pid: int, children: set[int]) -> None:
    """Kill a child that has not been reaped, so its pid is still its own."""
    if pid in children:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        children.discard(pid)


def _reap(children: set[int]) -> None:
    for pid in tuple(children):
        if os.waitpid(pid, os.WNOHANG)[0]:
            children.discard(pid)
