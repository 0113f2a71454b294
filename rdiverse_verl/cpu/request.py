"""What the engine is told to do, with the future that its caller waits for, and the reply that a request ends in."""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import Future, InvalidStateError
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from rdiverse_verl.cpu.options import SamplingOptions

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True)
class Completion:
    """A reply: its tokens (with the one that ended it), their log-probabilities, and what ended it.

    ``finish_reason`` is "stop", "length" or, if it was cut off, "abort"; ``stop_string`` is the stop string that ended
    it, if one did. See ``sample_tokens`` for what the log-probabilities mean.
    """

    token_ids: list[int]
    logprobs: list[float]
    finish_reason: str
    stop_string: str | None = None


@dataclass
class Request:
    """What was asked, what has been generated, and the future its caller waits for.

    ``uniforms`` gives one number a token, so that token t of a request gets the same number in every batch.
    """

    prompt_ids: list[int]
    options: SamplingOptions
    max_tokens: int
    stop_ids: frozenset[int]
    uniforms: np.random.Generator
    future: Future[Completion] = field(default_factory=Future)
    token_ids: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)

    def append(self, token: int, logprob: float, tokenizer: Any) -> Completion | None:
        """Add a generated token; returns the reply if it ends here."""
        self.token_ids.append(token)
        self.logprobs.append(logprob)
        if token in self.stop_ids:
            return Completion(self.token_ids, self.logprobs, "stop")
        if (stop_string := self._stop_string(tokenizer)) is not None:
            return Completion(self.token_ids, self.logprobs, "stop", stop_string)
        return Completion(self.token_ids, self.logprobs, "length") if len(self.token_ids) == self.max_tokens else None

    def cut_off(self) -> Completion:
        """The reply as far as it goes."""
        return Completion(self.token_ids, self.logprobs, "abort")

    def _stop_string(self, tokenizer: Any) -> str | None:
        if not self.options.stop:
            return None
        # A token holds at least one byte of text, so a stop string that the last token completes lies in this tail.
        tail = max(len(stop.encode()) for stop in self.options.stop) + 1
        text = tokenizer.decode(self.token_ids[-tail:], skip_special_tokens=False)
        return next((stop for stop in self.options.stop if stop in text), None)


@dataclass
class WeightUpdate:
    """New weights for all requests that come after it."""

    named_tensors: Iterable[tuple[str, Tensor]]
    future: Future[None] = field(default_factory=Future)


@dataclass
class Abort:
    """The end of all requests that came before it; its outcome is their number."""

    future: Future[int] = field(default_factory=Future)


def resolve(future: Future[Any], outcome: Any) -> None:
    """Give the caller a result or an error."""
    try:
        if isinstance(outcome, BaseException):
            future.set_exception(outcome)
        else:
            future.set_result(outcome)
    except InvalidStateError:
        pass  # Cancelled by its caller, who no longer waits.


def uniforms_from(seed: int, position: int) -> np.random.Generator:
    """Draws the numbers in [0, 1) of the tokens at ``position`` (of prompt and reply together), ``position + 1`` ...

    So a reply that was cut off and goes on as part of a longer prompt gets the numbers it would have got in one piece.
    Starting anew, it would use again those that its first tokens were chosen with.
    """
    uniforms = np.random.Generator(np.random.Philox(key=seed))
    uniforms.random(position)
    return uniforms
