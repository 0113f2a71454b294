"""The process behind one ``transformers`` rollout replica: a generation engine, called by Ray and over HTTP.

It imports neither verl nor its dependencies, so that a replica starts in the time of loading its model. Every process
that is handed a server's Ray handle imports this module, so the engine is imported only where it runs.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from rdiverse_verl.cpu.options import SamplingOptions
from rdiverse_verl.cpu.request import Completion
from rdiverse_verl.errors import ConfigError

if TYPE_CHECKING:
    from torch import Tensor

LOOPBACK = "127.0.0.1"  # verl's router, the only client, runs on the same node


@dataclass
class TokenOutput:
    """One reply, with the fields of ``verl.workers.rollout.replica.TokenOutput``."""

    token_ids: list[int]
    log_probs: list[float] | None = None
    routed_experts: None = None
    stop_reason: str | None = None
    num_preempted: int | None = None
    extra_fields: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class ServerLimits:
    """Sizes of one server: tokens of a prompt, of a reply, of both together; requests that run at once."""

    prompt_length: int
    response_length: int
    max_model_len: int | None
    max_num_seqs: int


class TransformersServer:
    """Ray actor; its methods are asynchronous and share one event loop.

    Args:
        model_path: folder of the model and its tokenizer; also the model's name in HTTP requests.
        limits: see :class:`ServerLimits`.
        seed: source of the seeds of requests that bring none.
        threads: threads of one tensor operation.
    """

    def __init__(self, model_path: str, limits: ServerLimits, seed: int, threads: int) -> None:
        import torch

        from rdiverse_verl.cpu.engine import GenerationEngine

        torch.set_num_threads(threads)
        self.limits = limits
        self.model_path = model_path
        self.engine = GenerationEngine(
            model_path, max_batch_size=limits.max_num_seqs, max_model_len=limits.max_model_len, seed=seed
        )
        self.global_steps: int | None = None
        self._admitting = asyncio.Event()
        self._admitting.set()
        self._rejecting = False

    async def serve(self) -> str:
        """Open the HTTP side on a free port of the loopback address; returns ``host:port``."""
        from rdiverse_verl.cpu.server import serve_http

        listener = socket.create_server((LOOPBACK, 0), backlog=2048)
        self._http = asyncio.create_task(serve_http(self.engine, self.model_path, listener))
        return f"{LOOPBACK}:{listener.getsockname()[1]}"

    async def generate(
        self, prompt_ids: list[int], sampling_params: Mapping[str, Any], request_id: str, **media: Any
    ) -> TokenOutput:
        """Continue token ids; the reply carries the log-probability of every sampled token.

        Its ``stop_reason`` is "completed", or "aborted" if the caller is to ask again with the tokens it got so far.

        Raises:
            ConfigError: a sampling option, or images, video or audio, that this engine does not handle.
        """
        refused = sorted(name for name, value in media.items() if value)
        if refused:
            raise ConfigError(f"the transformers rollout reads text only: remove {', '.join(refused)} from the rows")
        options = self._options(len(prompt_ids), dict(sampling_params))
        while not self._admitting.is_set():  # again after each wake-up: the gate may have closed in the meantime
            if self._rejecting:
                return self._output(Completion([], [], "abort"))
            await self._admitting.wait()
        return self._output(await self.engine.generate(prompt_ids, options))

    def _output(self, completion: Completion) -> TokenOutput:
        return TokenOutput(
            token_ids=completion.token_ids,
            log_probs=completion.logprobs,
            stop_reason="aborted" if completion.finish_reason == "abort" else "completed",
            extra_fields={"global_steps": self.global_steps},
        )

    def _options(self, prompt_tokens: int, params: dict[str, Any]) -> SamplingOptions:
        """verl's rules for a reply without ``max_tokens``: what the configured lengths leave, and the context holds."""
        params.pop("logprobs", None)  # every reply carries them
        budget = self.limits.response_length + min(0, self.limits.prompt_length - prompt_tokens)
        wanted = params.pop("max_new_tokens", params.pop("max_tokens", budget))
        params["max_tokens"] = max(1, min(wanted, self.engine.max_model_len - prompt_tokens))
        return SamplingOptions.parse(params)

    async def update_weights(self, named_tensors: Iterable[tuple[str, Tensor]], global_steps: int | None) -> None:
        """Replace the weights; replies from here on carry ``global_steps``."""
        await self.engine.load_state(named_tensors)
        self.global_steps = global_steps

    async def abort_all_requests(self, reject_request: bool = False) -> dict[str, Any]:
        """Cut off what is under way and, until ``resume_generation``, let new requests wait, or turn them away.

        Args:
            reject_request: turn them away, because this server will not resume soon and others can take them.
        """
        self._rejecting = reject_request
        self._admitting.clear()
        return {"aborted_count": await self.engine.abort()}

    async def resume_generation(self) -> None:
        self._rejecting = False
        self._admitting.set()

    async def _nothing_to_do(self, *args: Any, **kwargs: Any) -> None:
        """There is no device memory to release and no profiler to drive."""

    wake_up = sleep = clear_kv_cache = release_kv_cache = resume_kv_cache = _nothing_to_do
    start_profile = stop_profile = _nothing_to_do
