"""Which rollout server a request goes to, and how long its caller waits.

verl's own router knows no time limit, so a server that stops answering would stop the training run without a word. This
one also does without importing verl, which takes longer than everything else in its process.
"""

import asyncio
from collections.abc import Mapping
from typing import Any

import ray

from rdiverse_verl.errors import ServiceError

REQUEST_TIMEOUT_S = 300.0


class BoundedServer:
    """Stands for a server's Ray handle; ``await server.generate.remote(...)`` ends in a reply or an error."""

    def __init__(self, address: str, handle: Any, timeout_s: float = REQUEST_TIMEOUT_S) -> None:
        self.address = address
        self.handle = handle
        self.timeout_s = timeout_s

    @property
    def generate(self) -> "BoundedServer":
        return self

    async def remote(self, **request: Any) -> Any:
        """Send one request.

        Raises:
            ServiceError: the server died, or has not answered within ``timeout_s`` seconds.
        """
        return await answer(self.handle.generate.remote(**request), self.timeout_s, f"rollout server {self.address}")


async def answer(reference: Any, timeout_s: float, who: str) -> Any:
    """Result of a call to an actor; ServiceError if the actor dies or takes longer than ``timeout_s`` seconds."""
    try:
        return await asyncio.wait_for(asyncio.wrap_future(reference.future()), timeout_s)
    except asyncio.TimeoutError:
        raise ServiceError(f"{who} has not answered within {timeout_s:g} s; start the run again") from None
    except ray.exceptions.RayActorError as error:
        raise ServiceError(f"{who} died: {str(error).splitlines()[0]}") from error


class LeastLoadedRouter:
    """Sends each request to the server with the fewest under way; turns of one conversation may go to different ones.

    Replies do not depend on the server: all hold the same weights, and none remembers earlier turns.

    Args:
        servers: address -> Ray handle.
        config: the YAML file that names this class.
    """

    def __init__(self, servers: Mapping[str, Any], config: Mapping[str, Any]) -> None:
        self._servers: dict[str, BoundedServer] = {}
        self._under_way: dict[str, int] = {}
        self.add_servers(servers)

    def acquire_server(self, request_id: str) -> tuple[str, BoundedServer]:
        """The least loaded server; of equally loaded ones, the first.

        Raises:
            ServiceError: there is none.
        """
        if not self._under_way:
            raise ServiceError("No available servers in load balancer")  # verl's own words, which its clients look for
        address = min(self._under_way, key=self._under_way.__getitem__)
        self._under_way[address] += 1
        return address, self._servers[address]

    def release_server(self, server_id: str) -> None:
        if self._under_way.get(server_id, 0) > 0:
            self._under_way[server_id] -= 1

    def require_acquire_fields(self) -> list[str]:
        return []

    def require_release_fields(self) -> list[str]:
        return []

    def add_servers(self, servers: Mapping[str, Any]) -> None:
        for address, handle in servers.items():
            self._servers[address] = BoundedServer(address, handle)
            self._under_way[address] = 0

    def remove_servers(self, server_ids: list[str]) -> None:
        for address in server_ids:
            self._servers.pop(address, None)
            self._under_way.pop(address, None)

    def get_all_servers(self) -> list[str]:
        return list(self._servers)

    def get_total_inflight(self) -> int:
        return sum(self._under_way.values())

    def get_status(self) -> dict[str, Any]:
        servers = dict(self._under_way)
        return {"servers": servers, "total_inflight": self.get_total_inflight(), "active_servers": len(servers)}

    def clear_sticky_cache(self) -> dict[str, Any]:
        """No request sticks to a server."""
        return {"cleared_entries": 0, "server_loads": dict(self._under_way)}
