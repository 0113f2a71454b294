"""Text generation on a CPU: concurrent requests share every forward pass, and no reply shows who shared it."""

from __future__ import annotations

import asyncio
import queue
import threading
from collections import deque
from collections.abc import Iterable
from pathlib import Path

import torch
from torch import Tensor

from rdiverse_verl.cpu.language_model import LanguageModel
from rdiverse_verl.cpu.options import SamplingOptions
from rdiverse_verl.cpu.request import Abort, Completion, Request, WeightUpdate, resolve, uniforms_from
from rdiverse_verl.cpu.sampling import sample_tokens
from rdiverse_verl.errors import ConfigError, ServiceError, StateError
from rdiverse_verl.seeds import derive_seed


class GenerationEngine:
    """Generates with one model in one thread of its own.

    New requests join the running batch between two decode steps and leave it when they end. The model computes in
    float64 and each token is drawn with a number that depends on the request's seed and the token's position alone, so
    a reply is a function of weights, prompt and options, whatever else runs and in whatever order requests came.
    An aborted reply that is continued (its tokens after the prompt, the same seed) ends as if it had never been cut.

    Args:
        model_path: folder of a Transformers causal language model with its tokenizer.
        dtype: float64 unless speed matters more than equality.
        max_batch_size: requests that run at once; others wait.
        max_model_len: tokens of prompt and reply together; the model's own limit by default.
        seed: source of the seeds of requests that bring none.

    Raises:
        ConfigError: no usable model at ``model_path``, or a limit out of range.
    """

    def __init__(
        self,
        model_path: str | Path,
        *,
        dtype: torch.dtype = torch.float64,
        max_batch_size: int = 64,
        max_model_len: int | None = None,
        seed: int = 0,
    ) -> None:
        self._model = LanguageModel(model_path, dtype)
        model_limit = self._model.config.max_position_embeddings
        self.max_model_len = model_limit if max_model_len is None else max_model_len
        if not 2 <= self.max_model_len <= model_limit:
            raise ConfigError(
                f"max_model_len={max_model_len}: must be from 2 to {model_limit}, the limit of {model_path}"
            )
        if max_batch_size < 1:
            raise ConfigError(f"max_batch_size={max_batch_size}: must be at least 1")
        self.tokenizer = self._model.tokenizer
        self.model_path = self._model.path
        self._max_batch_size = max_batch_size
        self._seed = seed
        self._unseeded = 0
        self._lock = threading.Lock()
        self._inbox: queue.SimpleQueue[Request | WeightUpdate | Abort | None] = queue.SimpleQueue()
        self._waiting: deque[Request | WeightUpdate] = deque()
        self._running: list[Request] = []
        self._failure: ServiceError | None = None
        self._thread = threading.Thread(target=self._run, name="generation-engine", daemon=True)
        self._thread.start()

    @property
    def failure(self) -> ServiceError | None:
        """Why the engine no longer answers; None while it does."""
        return self._failure

    async def generate(self, prompt_ids: list[int], sampling: SamplingOptions) -> Completion:
        """Continue a prompt.

        Raises:
            ConfigError: the request cannot be served: empty or too long, or a token id outside the vocabulary.
            StateError: the model's output for this request is not finite.
            ServiceError: the engine is closed or has failed.
        """
        request = self._checked(prompt_ids, sampling)
        self._submit(request)
        return await asyncio.wrap_future(request.future)

    async def load_state(self, named_tensors: Iterable[tuple[str, Tensor]]) -> None:
        """Replace all weights once the requests sent before have ended; those sent after see the new weights.

        Raises:
            ConfigError: names or shapes do not match the model; the old weights stay.
            ServiceError: the engine is closed or has failed.
        """
        update = WeightUpdate(named_tensors)
        self._submit(update)
        await asyncio.wrap_future(update.future)

    async def abort(self) -> int:
        """End all requests sent before, each with the tokens it has so far; returns how many.

        A reply that is continued does not see a stop string that began before the cut.

        Raises:
            ServiceError: the engine is closed or has failed.
        """
        order = Abort()
        self._submit(order)
        return await asyncio.wrap_future(order.future)

    def close(self) -> None:
        """End the engine's thread; requests under way fail with ServiceError."""
        self._inbox.put(None)
        self._thread.join()

    def _checked(self, prompt_ids: list[int], options: SamplingOptions) -> Request:
        vocab = self._model.config.vocab_size
        if not prompt_ids:
            raise ConfigError("prompt is empty: at least one token is needed")
        for name, ids in (("prompt", prompt_ids), ("stop_token_ids", options.stop_token_ids)):
            wrong = next((token for token in ids if not 0 <= token < vocab), None)
            if wrong is not None:
                raise ConfigError(f"{name} holds token id {wrong}: the model's vocabulary is 0 to {vocab - 1}")
        room = self.max_model_len - len(prompt_ids)
        max_tokens = max(room, 1) if options.max_tokens is None else options.max_tokens
        if max_tokens > room:
            raise ConfigError(
                f"prompt of {len(prompt_ids)} tokens and max_tokens={max_tokens} "
                f"exceed max_model_len={self.max_model_len}: shorten the prompt or lower max_tokens"
            )
        stop_ids = frozenset(options.stop_token_ids)
        if not options.ignore_eos:
            stop_ids |= self._model.eos_token_ids
        seed = self._next_seed() if options.seed is None else options.seed
        return Request(list(prompt_ids), options, max_tokens, stop_ids, uniforms_from(seed, len(prompt_ids)))

    def _next_seed(self) -> int:
        with self._lock:
            self._unseeded += 1
            return derive_seed(self._seed, "unseeded request", self._unseeded)

    def _submit(self, work: Request | WeightUpdate | Abort) -> None:
        with self._lock:
            if self._failure is not None:
                raise self._failure
            self._inbox.put(work)

    @torch.inference_mode()
    def _run(self) -> None:
        try:
            while self._receive():
                self._admit()
                if self._running:
                    self._decode()
            failure = ServiceError("the generation engine was closed")
        except BaseException as error:
            failure = ServiceError(f"the generation engine failed: {type(error).__name__}: {error}")
            failure.__cause__ = error
        self._fail_all(failure)

    def _receive(self) -> bool:
        """Move what has arrived to the waiting line; with nothing to do, wait for it. False: the engine is to end."""
        while self._inbox.qsize() or not (self._waiting or self._running):
            work = self._inbox.get()
            if work is None:
                return False
            if isinstance(work, Abort):
                self._cut_off_all(work)
            else:
                self._waiting.append(work)
        return True

    def _cut_off_all(self, order: Abort) -> None:
        requests = [*self._running, *(work for work in self._waiting if isinstance(work, Request))]
        for request in requests:
            resolve(request.future, request.cut_off())
        self._running = []
        self._waiting = deque(work for work in self._waiting if not isinstance(work, Request))
        resolve(order.future, len(requests))

    def _admit(self) -> None:
        """Start waiting requests in order of arrival. A weight update waits until nothing runs, the rest after it."""
        admitted: list[Request] = []
        while self._waiting and len(self._running) + len(admitted) < self._max_batch_size:
            work = self._waiting[0]
            if isinstance(work, Request):
                admitted.append(work)
            elif self._running or admitted:
                break
            else:
                self._update_weights(work)
            self._waiting.popleft()
        if admitted:
            first_slot = len(self._running)
            self._running += admitted
            starts_R = torch.zeros(len(admitted), dtype=torch.long)
            logits_R_V = self._model.next_logits(first_slot, starts_R, [request.prompt_ids for request in admitted])
            self._append_tokens(admitted, logits_R_V)

    def _decode(self) -> None:
        """One more token for every running request."""
        starts_R = torch.tensor([len(r.prompt_ids) + len(r.token_ids) - 1 for r in self._running])
        logits_R_V = self._model.next_logits(0, starts_R, [r.token_ids[-1:] for r in self._running])
        self._append_tokens(self._running, logits_R_V)

    def _append_tokens(self, requests: list[Request], logits_R_V: Tensor) -> None:
        finite_R = logits_R_V.isfinite().all(dim=-1).tolist()
        tokens, logprobs = sample_tokens(
            logits_R_V.nan_to_num(),
            [request.options for request in requests],
            [request.uniforms.random() for request in requests],
        )
        for request, token, logprob, finite in zip(requests, tokens, logprobs, finite_R, strict=True):
            completion = request.append(token, logprob, self.tokenizer)
            if not finite:
                resolve(request.future, StateError("the model's logits are not finite: its weights are damaged"))
            elif completion is not None:
                resolve(request.future, completion)
        # A request whose caller gave up is done as well: its future was cancelled.
        kept = [slot for slot, request in enumerate(self._running) if not request.future.done()]
        if len(kept) < len(self._running):
            self._model.cache.keep(kept)
            self._running = [self._running[slot] for slot in kept]

    def _update_weights(self, update: WeightUpdate) -> None:
        try:
            self._model.load_state(update.named_tensors)
        except ConfigError as error:
            resolve(update.future, error)
        else:
            resolve(update.future, None)

    def _fail_all(self, failure: ServiceError) -> None:
        with self._lock:
            self._failure = failure
        while self._inbox.qsize():
            work = self._inbox.get()
            if work is not None:
                resolve(work.future, failure)
        for work in (*self._running, *self._waiting):
            resolve(work.future, failure)
