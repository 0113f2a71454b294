"""Ask a model served over an OpenAI-style API; a service that is dead or silent is one clear error, never a hang."""

import asyncio
import time
from dataclasses import dataclass
from typing import Any

import httpx

from rdiverse_verl.errors import ServiceError
from rdiverse_verl.verl_plugin.settings import Service

CONNECT_S = 10.0
FIRST_PAUSE_S = 0.5
BUSY = {429, 502, 503}


@dataclass(frozen=True)
class Reply:
    """One sampled text; ``truncated`` when it ran into the token limit."""

    text: str
    truncated: bool


class ServedModel:
    """One served model, under the name by which errors speak of it."""

    def __init__(self, role: str, url: str, model: str, service: Service) -> None:
        self.role = role
        self.url = url.rstrip("/")
        self.model = model
        self.service = service
        # trust_env=False: a proxy meant for the outside world must not see requests to a loopback server
        self.client = httpx.AsyncClient(
            timeout=httpx.Timeout(service.timeout_s, connect=min(CONNECT_S, service.timeout_s), pool=None),
            limits=httpx.Limits(max_connections=service.concurrency),
            trust_env=False,
        )

    async def ask(self, messages: list[dict[str, str]], **sampling: Any) -> list[Reply]:
        """The replies to one prompt; ``sampling`` is the request's own part (n, seed, temperature, max_tokens ...).

        Raises:
            ServiceError: unreachable after every try, no answer in time, or an answer that is no success.
        """
        body = {"model": self.model, "messages": messages, **sampling}
        started = time.monotonic()
        problem = ""
        for attempt in range(self.service.tries):  # a request carries its seed, so asking again gives the same replies
            if attempt:
                await asyncio.sleep(FIRST_PAUSE_S * 2 ** (attempt - 1))
            try:
                response = await self.client.post(f"{self.url}/v1/chat/completions", json=body)
            except httpx.ReadTimeout as error:
                raise self._error(f"did not answer within {self.service.timeout_s:g} s") from error
            except httpx.TransportError as error:
                problem = f"cannot be reached ({type(error).__name__}: {error})"
                continue
            if response.is_success:
                return self._replies(response, sampling.get("n", 1))
            problem = f"refused a request (HTTP {response.status_code}: {response.text[:300]})"
            if response.status_code not in BUSY:
                break
        raise self._error(f"{problem}; gave up after {time.monotonic() - started:.1f} s")

    def _replies(self, response: httpx.Response, wanted: int) -> list[Reply]:
        try:
            replies = [_reply(choice) for choice in response.json()["choices"]]
        except (ValueError, KeyError, TypeError) as error:
            raise self._error(f"answered with what is no chat completion: {response.text[:300]!r}") from error
        if len(replies) != wanted:
            raise self._error(f"gave {len(replies)} replies where {wanted} were asked for")
        return replies

    def _error(self, problem: str) -> ServiceError:
        return ServiceError(f"the {self.role} ({self.model}) at {self.url} {problem}")


def _reply(choice: dict[str, Any]) -> Reply:
    text = choice["message"]["content"] or ""
    # half of a surrogate pair is valid JSON, but can be written to no file
    return Reply(text.encode("utf-8", "replace").decode("utf-8"), choice.get("finish_reason") == "length")
