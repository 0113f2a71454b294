"""Serve a model over an OpenAI-style API for as long as a phase needs it."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx

from rdiverse_verl.errors import ServiceError
from rdiverse_verl.selfplay import supervise
from rdiverse_verl.selfplay.settings import Serving
from rdiverse_verl.selfplay.work import Work

POLL_S = 0.1


@dataclass(frozen=True)
class Endpoint:
    """Where a served model answers, and where its log is."""

    url: str
    model: str
    log: Path | None = None


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextmanager
def served(model: str, serving: Serving, seed: int, log: Path) -> Iterator[Endpoint]:
    """Start the engine on a free loopback port, wait until it is healthy, and end it afterwards.

    Raises:
        ServiceError: the engine ended, or was not ready within ``serving.start_timeout_s``.
    """
    port = free_port()
    endpoint = Endpoint(f"http://127.0.0.1:{port}", model, log)
    process = supervise.start(_command(model, port, seed, serving), log, _environment(serving))
    try:
        _wait_until_healthy(endpoint, process, serving.start_timeout_s)
        yield endpoint
    finally:
        supervise.stop(process)


@contextmanager
def coder_endpoint(work: Work) -> Iterator[Endpoint]:
    """The Coder: where the recipe says it is served already, else served here."""
    coder = work.settings.coder
    if coder.url:
        yield Endpoint(coder.url, coder.model)
        return
    with served(work.coder(), work.settings.serving, work.seed("coder"), work.log / "coder.log") as endpoint:
        yield endpoint


def _command(model: str, port: int, seed: int, serving: Serving) -> list[str]:
    address = ["--host", "127.0.0.1", "--port", str(port), "--seed", str(seed), "--served-model-name", model]
    if serving.engine == "transformers":
        return [sys.executable, "-m", "rdiverse_verl.cpu.serve", "--model", model, *address, *serving.args]
    return [sys.executable, "-m", "vllm.entrypoints.openai.api_server", "--model", model, *address, *serving.args]


def _environment(serving: Serving) -> dict[str, str]:
    threads = {"OMP_NUM_THREADS": "1"} if serving.engine == "transformers" else {}  # small matrices: more only wait
    return {**os.environ, **threads, **serving.env}


def _wait_until_healthy(endpoint: Endpoint, process: subprocess.Popen[bytes], timeout_s: float) -> None:
    deadline = time.monotonic() + timeout_s
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise ServiceError(
                f"the server of {endpoint.model} ended with code {process.returncode}: {last_line(endpoint.log)}"
            )
        try:
            if httpx.get(f"{endpoint.url}/health", timeout=5, trust_env=False).is_success:
                return
        except httpx.TransportError:
            pass  # not listening yet
        time.sleep(POLL_S)
    raise ServiceError(
        f"the server of {endpoint.model} was not ready within {timeout_s:g} s; its log is {endpoint.log}"
    )


def last_line(log: Path | None) -> str:
    """The last non-empty line of a log, for error messages."""
    if log is None or not log.is_file():
        return "no log"
    lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    return f"{lines[-1]} ({log})" if lines else f"nothing was logged ({log})"
