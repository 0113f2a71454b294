"""Starts Ray's workers as forks of one process that has imported verl already.

A training run has about ten processes, and importing verl takes each of them longer than everything else it does until
the first step. This server imports once, beside the driver's own start, and every worker begins with all of it in place
and in shared memory.
"""

import gc
import importlib
import json
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NoReturn

from rdiverse_verl.cpu.fork_client import SOCKET

# What takes long, and is imported before there is a Ray cluster.
LIBRARIES = (
    "torch._dynamo",
    "torch.distributed.checkpoint",
    "torch.distributed.fsdp",
    "torchdata.stateful_dataloader",
    "tensordict",
    "transformers.generation.utils",
    "transformers.models.auto.modeling_auto",
    "datasets",
    "accelerate",
    "peft",
    "hydra",
    "aiohttp",
    "fastapi",
    "uvicorn",
)
# Ray reads the cluster's identity from the environment when it is imported, so it and verl wait for the first worker's.
USERS_OF_RAY = (
    "ray._private.workers.default_worker",
    "verl.trainer.ppo.v1",
    "verl.workers.engine_workers",
    "rdiverse_verl.cpu.rollout",
    "rdiverse_verl.cpu.engine",
    "rdiverse_verl.cpu.server",
)


def start() -> None:
    """Start the server for this process, a run's driver, and end it with this process. Workers read ``SOCKET``."""
    path = str(Path(tempfile.mkdtemp(prefix="rdv")) / "fork")
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    listener.bind(path)
    listener.listen(128)
    alive, _held_open = os.pipe()  # its other end closes with this process, however it ends
    command = [sys.executable, "-m", __name__, str(listener.fileno()), str(alive), path]
    subprocess.Popen(command, pass_fds=(listener.fileno(), alive), start_new_session=True)
    listener.close()
    os.close(alive)
    os.environ[SOCKET] = path


def serve(listener: socket.socket, driver: int) -> None:
    """Fork a worker for each connection, until ``driver``, the read end of a pipe, is closed at its other end.

    Returns in the server only: a worker leaves by SystemExit.
    """
    ready_for_ray = False
    waited_for: list[Any] = [listener, driver]
    while driver not in select.select(waited_for, [], [])[0]:
        connection, _ = listener.accept()
        message, descriptors, _, _ = socket.recv_fds(connection, 1 << 20, 3)
        request = json.loads(message)
        if not ready_for_ray:
            os.environ.update(request["environ"])
            _import(USERS_OF_RAY)
            ready_for_ray = True
        if os.fork() == 0:
            listener.close()
            os.close(driver)
            _become_worker(request, descriptors, connection)
        connection.close()
        for descriptor in descriptors:
            os.close(descriptor)


def _become_worker(request: dict[str, Any], descriptors: list[int], connection: socket.socket) -> NoReturn:
    for target, descriptor in enumerate(descriptors):
        os.dup2(descriptor, target)
        os.close(descriptor)
    os.setsid()  # when a worker dies, Ray kills the rest of its process group
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    os.environ.clear()
    os.environ.update(request["environ"])
    os.chdir(request["folder"])
    sys.argv = request["argv"]
    connection.send(b"1")
    runpy.run_path(sys.argv[0], run_name="__main__")
    sys.exit()


def _import(modules: Iterable[str]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of engines that verl looks for in vain
        for module in modules:
            importlib.import_module(module)
    gc.freeze()  # else each collection in a worker would write to, and so copy, the shared pages


def main() -> None:
    listener, driver, path = socket.socket(fileno=int(sys.argv[1])), int(sys.argv[2]), Path(sys.argv[3])
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the workers' exit codes
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    server = os.getpid()
    try:
        _import(LIBRARIES)
        serve(listener, driver)
    finally:
        if os.getpid() == server:  # a worker comes through here too, at its end
            path.unlink()
            path.parent.rmdir()


if __name__ == "__main__":
    main()
