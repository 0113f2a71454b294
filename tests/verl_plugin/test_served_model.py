"""The client of served models against real sockets: dead, silent, refusing, busy."""

import asyncio
import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from rdiverse_verl.errors import ServiceError
from rdiverse_verl.verl_plugin.served_model import Reply, ServedModel
from rdiverse_verl.verl_plugin.settings import Service

SERVICE = Service(timeout_s=1.0, tries=2, concurrency=4)


def ask(url: str, **sampling):
    async def go():
        return await ServedModel("Coder", url, "coder-7b", SERVICE).ask([{"role": "user", "content": "hi"}], **sampling)

    return asyncio.run(go())


@contextmanager
def server(answers: list[tuple[int, dict]]) -> Iterator[tuple[str, list[dict]]]:
    """A server that gives these answers in turn, the last one for ever, and keeps what it was asked."""
    asked: list[dict] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            asked.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))) | {"path": self.path})
            status, body = answers[min(len(asked), len(answers)) - 1]
            payload = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(payload)))
            self.end_headers()
            self.wfile.write(payload)

        def log_message(self, *_):
            return

    running = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=running.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{running.server_port}", asked
    finally:
        running.shutdown()
        running.server_close()


TWO = {
    "choices": [
        {"message": {"content": "one"}, "finish_reason": "stop"},
        {"message": {"content": None}, "finish_reason": "length"},
    ]
}


def test_replies_and_the_request_behind_them():
    with server([(200, TWO)]) as (url, asked):
        assert ask(url + "/", n=2, seed=5, top_k=40) == [Reply("one", False), Reply("", True)]
    message = {"role": "user", "content": "hi"}
    expected = {"model": "coder-7b", "messages": [message], "n": 2, "seed": 5, "top_k": 40}
    assert asked == [expected | {"path": "/v1/chat/completions"}]


def test_a_dead_service_is_named_with_how_long_it_was_tried():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{probe.getsockname()[1]}"
    with pytest.raises(ServiceError) as caught:
        ask(url)
    text = str(caught.value)
    assert text.startswith(f"the Coder (coder-7b) at {url} cannot be reached (ConnectError")
    assert "gave up after 0." in text


def test_a_silent_service_ends_after_the_time_limit():
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        started = time.monotonic()
        with pytest.raises(ServiceError, match=f"the Coder .* at {url} did not answer within 1 s"):
            ask(url)
        assert time.monotonic() - started < 3


def test_a_refused_request_is_not_repeated():
    refusal = {"error": "prompt too long"}
    with server([(400, refusal)]) as (url, asked), pytest.raises(ServiceError, match=r"HTTP 400: .*prompt too long"):
        ask(url)
    assert len(asked) == 1


def test_a_busy_service_is_asked_again():
    with server([(503, {}), (200, TWO)]) as (url, asked):
        assert len(ask(url, n=2)) == 2
    assert len(asked) == 2


@pytest.mark.parametrize("body", [{}, {"choices": None}, {"choices": [{"text": "no message"}]}, ["a list"]])
def test_an_answer_that_is_no_chat_completion_is_one_error(body):
    with server([(200, body)]) as (url, _), pytest.raises(ServiceError, match="what is no chat completion"):
        ask(url)


def test_fewer_replies_than_asked_for_are_an_error_and_not_a_smaller_vote():
    with server([(200, TWO)]) as (url, _), pytest.raises(ServiceError, match="gave 2 replies where 10 were asked for"):
        ask(url, n=10)


def test_half_a_surrogate_pair_is_replaced():
    broken = {"choices": [{"message": {"content": "a\ud800b"}, "finish_reason": "stop"}]}
    with server([(200, broken)]) as (url, _):
        assert ask(url) == [Reply("a?b", False)]
