"""Ask a served model many things at once; replies come back in the order asked, whatever order they arrive in."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rdiverse_verl.errors import ServiceError
from rdiverse_verl.selfplay.serving import Endpoint, last_line
from rdiverse_verl.verl_plugin.served_model import ServedModel
from rdiverse_verl.verl_plugin.settings import Service

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
    sampling: dict[str, Any],
    service: Service,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> list[list[str]]:
    """The texts of ``n`` replies to each request; ``sampling`` is common to all (temperature, top_p, max_tokens ...).

    Raises:
        ServiceError: the server refused a request, died, or did not answer in time.
    """
    return asyncio.run(_ask_all(endpoint, requests, sampling, service, progress))


async def _ask_all(
    endpoint: Endpoint,
    requests: list[Request],
    sampling: dict[str, Any],
    service: Service,
    progress: Callable[[int, int], None],
) -> list[list[str]]:
    model = ServedModel("server of", endpoint.url, endpoint.model, service)
    slots = asyncio.Semaphore(service.concurrency)
    done = 0

    async def one(request: Request) -> list[str]:
        nonlocal done
        async with slots:
            replies = await model.ask(request.messages, n=request.n, seed=request.seed, **sampling)
        done += 1
        progress(done, len(requests))
        return [reply.text for reply in replies]

    tasks = [asyncio.ensure_future(one(request)) for request in requests]
    try:
        return await asyncio.gather(*tasks)
    except ServiceError as error:
        raise ServiceError(f"{error}; its log ends: {last_line(endpoint.log)}") from error
    finally:
        for task in tasks:
            task.cancel()
        await model.client.aclose()
