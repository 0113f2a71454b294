"""A pool of grading workers that are killed and replaced when they are late, crash or run out of memory.

Each worker is owned by one calling thread at a time and has a socket of its own, so a killed one leaves no lock and no
half-written message behind. There is no manager thread. A forked child of the owner must make a pool of its own.
"""

import json
import os
import queue
import socket
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import rdiverse_verl
from rdiverse_verl.errors import ServiceError
from rdiverse_verl.grading.compare import Match
from rdiverse_verl.grading.limits import Limits
from rdiverse_verl.grading.nursery import REPLY, REQUEST

_START_S = 120.0
_CONTROL_S = 10.0
_START = "import sys; from rdiverse_verl.grading.nursery import main; main(*sys.argv[1:])"


class Failed(Exception):
    """A comparison was not finished; ``blame`` is the side that alone was too much, if one was."""

    def __init__(self, kind: Literal["timeout", "error"], blame: str | None = None):
        super().__init__(kind)
        self.kind: Literal["timeout", "error"] = kind
        self.blame = blame


class _Gone(Exception):
    """The worker died. ``started`` says whether it had begun with this job."""

    def __init__(self, started: bool):
        super().__init__()
        self.started = started


@dataclass
class _Worker:
    pid: int
    jobs: socket.socket


class Pool:
    """``limits.workers`` workers, started when first needed."""

    def __init__(self, limits: Limits):
        self.limits = limits
        self.replaced = 0
        self._slots: queue.LifoQueue[_Worker | None] = queue.LifoQueue()
        for _ in range(limits.workers):
            self._slots.put(None)
        self._nursery: _Nursery | None = None
        self._lock = threading.Lock()

    def compare(self, a: str, b: str) -> Match:
        """How two normalized answers match. Raises ``Failed``; takes at most the limit once a worker is free."""
        worker = self._slots.get()
        try:
            worker = worker or self._start_worker()
            deadline = time.monotonic() + self.limits.seconds
            try:
                return self._ask(worker, a, b, deadline)
            except _Gone:  # killed from outside, or by its own size: the answer's fault only if it happens again
                self._retire(worker)
                worker = None
                worker = self._start_worker()
                return self._ask(worker, a, b, deadline)
        except _Gone:
            self._retire(worker)
            worker = None
            raise Failed("error") from None
        except TimeoutError as late:
            self._retire(worker)
            worker = None
            raise Failed("timeout", late.args[0]) from None
        finally:
            self._slots.put(worker)

    def pids(self) -> tuple[int, ...]:
        """Process ids of the nursery and of the idle workers."""
        idle = [worker for worker in tuple(self._slots.queue) if worker]
        return (*([self._nursery.process.pid] if self._nursery else []), *(worker.pid for worker in idle))

    def close(self) -> None:
        """End all workers."""
        with self._lock:
            if self._nursery:
                self._nursery.close()
                self._nursery = None

    def abandon(self) -> None:
        """In a forked child: let go of the parent's sockets without a word to its workers."""
        for worker in tuple(self._slots.queue):
            if worker:
                worker.jobs.close()
        if self._nursery:
            self._nursery.control.close()

    def _ask(self, worker: _Worker, a: str, b: str, deadline: float) -> Match:
        said = b""
        try:
            worker.jobs.sendall(json.dumps([a, b]).encode() + b"\n")
            while True:
                worker.jobs.settimeout(max(deadline - time.monotonic(), 0.001))
                more = worker.jobs.recv(256)
                if not more:
                    raise _Gone(b"start" in said)
                said += more
                if said.endswith(b"\n") and (word := said.split()[-1].decode()) not in ("start", "a", "b"):
                    break
        except TimeoutError:
            stages = said.split()
            raise TimeoutError(None if b"b" in stages else b if b"a" in stages else a) from None
        except OSError as error:
            raise _Gone(False) from error
        if word == "memory":
            raise _Gone(True)
        return Match[word]

    def _start_worker(self) -> _Worker:
        with self._lock:
            try:
                if self._nursery and self._nursery.alive():
                    return self._nursery.fork()
            except ServiceError:  # it died since; a new one says so if it cannot start
                self._nursery = None
            self._nursery = _Nursery(self.limits)
            return self._nursery.fork()

    def _retire(self, worker: _Worker | None) -> None:
        if worker:
            worker.jobs.close()
            self.replaced += 1
            with self._lock:
                if self._nursery and self._nursery.alive():
                    self._nursery.kill(worker.pid)


class _Nursery:
    """The process that workers are forked from, seen from its owner."""

    def __init__(self, limits: Limits):
        self.control, theirs = socket.socketpair()
        environment = dict(os.environ)
        package_root = str(Path(rdiverse_verl.__file__).parents[1])
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, [package_root, environment.get("PYTHONPATH")]))
        arguments = (str(theirs.fileno()), str(limits.seconds), str(limits.mebibytes))
        self.process = subprocess.Popen(
            [sys.executable, "-c", _START, *arguments],
            pass_fds=(theirs.fileno(),),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            env=environment,
        )
        theirs.close()
        self.control.settimeout(_START_S)
        self._receive()
        self.control.settimeout(_CONTROL_S)

    def alive(self) -> bool:
        return self.process.poll() is None

    def fork(self) -> _Worker:
        """A new worker, or ServiceError."""
        ours, theirs = socket.socketpair()
        with theirs:
            self._send(b"F", 0, theirs.fileno())
        return _Worker(self._receive(), ours)

    def kill(self, pid: int) -> None:
        """End a worker, without waiting until it is gone."""
        self._send(b"K", pid)

    def close(self) -> None:
        """End this process; its workers end with it."""
        self.control.close()
        try:
            self.process.wait(timeout=1.0)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def _send(self, request: bytes, pid: int, *attached: int) -> None:
        try:
            socket.send_fds(self.control, [REQUEST.pack(request, pid)], attached)
        except OSError:  # it is gone, which the next fork finds out
            self.process.kill()

    def _receive(self) -> int:
        try:
            reply = self.control.recv(REPLY.size, socket.MSG_WAITALL)
        except OSError:
            reply = b""
        if len(reply) < REPLY.size:
            self.process.kill()
            raise ServiceError(
                "the process that starts grading workers ended or did not answer (its error is on stderr); "
                "check that math-verify is installed: python -c 'import math_verify'"
            )
        return int(REPLY.unpack(reply)[0])
