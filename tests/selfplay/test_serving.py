"""Served models: the order of replies, and a server that dies, never starts or never answers."""

import contextlib
import json
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from rdiverse_verl import tiny
from rdiverse_verl.errors import ServiceError
from rdiverse_verl.roles import solver
from rdiverse_verl.selfplay.client import Request, ask
from rdiverse_verl.selfplay.serving import Endpoint, served
from rdiverse_verl.selfplay.settings import Serving
from rdiverse_verl.verl_plugin.settings import Service

SERVING = Serving(engine="transformers", start_timeout_s=120)
SAMPLING = {"temperature": 1.0, "max_tokens": 24}
REQUESTS = [Request(solver.messages(f"What is {n} + {n}?"), seed=n, n=2) for n in range(8)]


@pytest.fixture(scope="module")
def endpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Endpoint]:
    log = tmp_path_factory.mktemp("served") / "server.log"
    with served(str(tiny.base_model_path()), SERVING, seed=1, log=log) as running:
        yield running


def test_replies_come_in_the_order_asked_and_do_not_depend_on_company(endpoint: Endpoint) -> None:
    together = ask(endpoint, REQUESTS, SAMPLING, Service(timeout_s=60))
    alone = [ask(endpoint, [request], SAMPLING, Service(timeout_s=60))[0] for request in REQUESTS]
    backwards = ask(endpoint, REQUESTS[::-1], SAMPLING, Service(timeout_s=60, concurrency=3))
    assert together == alone == backwards[::-1]
    assert all(len(texts) == 2 for texts in together)
    assert len({text for texts in together for text in texts}) > 8


def test_progress_counts_to_the_end(endpoint: Endpoint) -> None:
    seen: list[tuple[int, int]] = []
    ask(endpoint, REQUESTS, SAMPLING, Service(timeout_s=60), lambda done, total: seen.append((done, total)))
    assert seen == [(done, 8) for done in range(1, 9)]


def test_a_refused_request_names_the_field(endpoint: Endpoint) -> None:
    with pytest.raises(ServiceError, match=r"HTTP 400.*temperature"):
        ask(endpoint, REQUESTS[:1], {**SAMPLING, "temperature": -1}, Service(timeout_s=60))


def test_a_server_killed_while_asked_is_one_error_within_seconds(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    many = [Request(solver.messages(f"What is {n} times {n}?"), seed=n, n=10) for n in range(100)]

    def kill_server() -> None:
        time.sleep(1)
        for child in psutil.Process().children(recursive=True):
            with contextlib.suppress(psutil.Error):  # a child of another test may end while it is looked at
                command = child.cmdline()
                if "rdiverse_verl.cpu.serve" in command and "rdiverse_verl.selfplay.supervise" not in command:
                    child.kill()

    with served(str(tiny.base_model_path()), SERVING, seed=1, log=log) as endpoint:
        threading.Thread(target=kill_server, daemon=True).start()
        started = time.monotonic()
        with pytest.raises(ServiceError, match=r"cannot be reached.*server\.log"):
            ask(endpoint, many, SAMPLING, Service(timeout_s=60, tries=2))
        assert time.monotonic() - started < 15


def test_a_server_that_never_answers_is_given_up_on_in_time() -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        endpoint = Endpoint(f"http://127.0.0.1:{silent.getsockname()[1]}", "silent")
        started = time.monotonic()
        with pytest.raises(ServiceError, match=r"silent.*did not answer within 1 s"):
            ask(endpoint, REQUESTS[:2], SAMPLING, Service(timeout_s=1))
        assert time.monotonic() - started < 5


def test_a_model_that_cannot_be_served_says_why(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "nothing"}))
    with (
        pytest.raises(ServiceError, match=r"ended with code 2: .*server\.log"),
        served(str(tmp_path), SERVING, seed=1, log=tmp_path / "server.log"),
    ):
        pass
