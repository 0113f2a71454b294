"""Ask a served model many things at once; replies come back in the order asked, whatever order they arrive in."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

import httpx

from rdiverse_verl.errors import ServiceError
from rdiverse_verl.selfplay.serving import Endpoint, last_line
from rdiverse_verl.selfplay.settings import Sampling, Serving

TRIES = 3
BUSY = {429, 502, 503}
Messages = list[dict[str, str]]


@dataclass(frozen=True)
class Request:
    """One prompt, its own seed, and how many replies are wanted."""

    messages: Messages
    seed: int
    n: int = 1


def ask(
    endpoint: Endpoint,
    requests: list[Request],
    sampling: Sampling,
    serving: Serving,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> list[list[str]]:
    """The texts of ``n`` replies to each request.

    Raises:
        ServiceError: the server refused a request, died, or did not answer within ``serving.request_timeout_s``.
    """
    return asyncio.run(_ask_all(endpoint, requests, sampling, serving, progress))


async def _ask_all(
    endpoint: Endpoint,
    requests: list[Request],
    sampling: Sampling,
    serving: Serving,
    progress: Callable[[int, int], None],
) -> list[list[str]]:
    slots = asyncio.Semaphore(serving.concurrency)
    limits = httpx.Limits(max_connections=serving.concurrency)
    done = 0

    async def one(request: Request) -> list[str]:
        nonlocal done
        async with slots:
            texts = await _ask_one(client, endpoint, request, sampling)
        done += 1
        progress(done, len(requests))
        return texts

    async with httpx.AsyncClient(timeout=serving.request_timeout_s, limits=limits) as client:
        tasks = [asyncio.ensure_future(one(request)) for request in requests]
        try:
            return await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()


async def _ask_one(client: httpx.AsyncClient, endpoint: Endpoint, request: Request, sampling: Sampling) -> list[str]:
    body = {
        "model": endpoint.model,
        "messages": request.messages,
        "n": request.n,
        "seed": request.seed,
        **sampling.model_dump(include={"temperature", "top_p", "max_tokens"}),
    }
    problem = ""
    for attempt in range(TRIES):  # a seeded request may be repeated: its replies are the same
        if attempt:
            await asyncio.sleep(2.0**attempt)
        try:
            response = await client.post(f"{endpoint.url}/v1/chat/completions", json=body)
        except httpx.TimeoutException as error:
            raise ServiceError(
                f"{endpoint.model} at {endpoint.url} did not answer in time ({type(error).__name__})"
            ) from error
        except httpx.TransportError as error:
            problem = f"{type(error).__name__} {error}".strip()
            continue
        if response.is_success:
            return [choice["message"]["content"] for choice in response.json()["choices"]]
        problem = f"HTTP {response.status_code}: {response.text[:300]}"
        if response.status_code not in BUSY:
            break
    raise ServiceError(f"{endpoint.model} at {endpoint.url} failed: {problem}; its log ends: {last_line(endpoint.log)}")
