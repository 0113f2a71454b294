"""The engine behind OpenAI's HTTP interface, as vLLM would serve it."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Coroutine
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from rdiverse_verl.cpu import protocol
from rdiverse_verl.cpu.engine import GenerationEngine
from rdiverse_verl.cpu.request import Completion
from rdiverse_verl.errors import ConfigError, ServiceError, StateError

_SHUTDOWN_SECONDS = 5


def serve_http(engine: GenerationEngine, served_model_name: str, listener: socket.socket) -> Coroutine[Any, Any, None]:
    """Serve ``engine`` on a listening socket until the returned coroutine is cancelled or the process gets SIGTERM.

    Raises:
        ConfigError: at once, see ``create_app``.
    """
    config = uvicorn.Config(
        create_app(engine, served_model_name),
        log_level="warning",
        access_log=False,
        lifespan="off",
        timeout_graceful_shutdown=_SHUTDOWN_SECONDS,
    )
    return uvicorn.Server(config).serve(sockets=[listener])


def create_app(engine: GenerationEngine, served_model_name: str) -> Starlette:
    """The routes ``/v1/chat/completions``, ``/v1/completions``, ``/v1/models`` and ``/health``.

    Raises:
        ConfigError: the tokenizer has no chat template.
    """
    tokenizer = engine.tokenizer
    if not tokenizer.chat_template:
        raise ConfigError(
            f"the tokenizer of {engine.model_path} has no chat template: set chat_template and save it again"
        )

    async def complete(request: Request, read: Callable[..., Any], reply: Callable[..., Any]) -> JSONResponse:
        body = await _body(request)
        if body.get("model") not in (None, served_model_name):
            raise HTTPException(404, f"model {body['model']!r} is not served here: only {served_model_name!r} is")
        wanted = read(body, tokenizer)
        completions: list[Completion] = await asyncio.gather(
            *(engine.generate(prompt, options) for prompt, options in wanted.samples())
        )
        return JSONResponse(reply(wanted, completions, tokenizer, served_model_name))

    async def chat_completions(request: Request) -> JSONResponse:
        return await complete(request, protocol.read_chat, protocol.chat_reply)

    async def completions(request: Request) -> JSONResponse:
        return await complete(request, protocol.read_completion, protocol.completion_reply)

    async def models(request: Request) -> JSONResponse:
        model = {"id": served_model_name, "object": "model", "created": 0, "owned_by": "rdiverse-verl"}
        return JSONResponse({"object": "list", "data": [model | {"max_model_len": engine.max_model_len}]})

    async def health(request: Request) -> JSONResponse:
        if engine.failure is not None:
            raise engine.failure
        return JSONResponse({"status": "ok"})

    return Starlette(
        routes=[
            Route("/v1/chat/completions", chat_completions, methods=["POST"]),
            Route("/v1/completions", completions, methods=["POST"]),
            Route("/v1/models", models),
            Route("/health", health),
        ],
        exception_handlers={
            ConfigError: lambda request, error: _error(400, str(error)),
            HTTPException: lambda request, error: _error(error.status_code, error.detail),
            ServiceError: lambda request, error: _error(503, str(error)),
            StateError: lambda request, error: _error(500, str(error)),
        },
    )


async def _body(request: Request) -> dict[str, Any]:
    try:
        body = await request.json()
    except (ValueError, RecursionError) as error:  # also numbers too long, and nesting too deep, to be read
        raise ConfigError(f"the request body is not JSON: {error}") from error
    if not isinstance(body, dict):
        raise ConfigError(f"the request body must be a JSON object, not {type(body).__name__}")
    return body


def _error(status: int, message: str) -> JSONResponse:
    kind = "invalid_request_error" if status < 500 else "server_error"
    return JSONResponse({"error": {"message": message, "type": kind, "param": None, "code": None}}, status)
