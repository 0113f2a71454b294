"""Guided prompts on their way into a later batch (ExTra, Q of Alg. 1, App. B.5)."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from rdiverse_verl.algorithms.ragged import pack, unpack
from rdiverse_verl.errors import ConfigError, DataError


@dataclass(frozen=True)
class GuidedPrompt:
    """A prompt with a prefix of an answer to continue.

    Attributes:
        root: key of the prompt itself, whatever prefix it is given.
        prefix_ids: token ids of the prefix, not empty.
        mte: its mean token entropy, in nats.
        step: the training step that queued it.
        source: the prompt's whole data set row, as plain data: its ground truth stays with it.
    """

    root: str
    prefix_ids: tuple[int, ...]
    mte: float
    step: int
    source: dict[str, Any]


class GuidedQueue:
    """First in, first out; one entry a root; the oldest leaves when there are more than `max_size`.

    A root that waits already keeps its place and takes the newer prefix. `replaced` and `dropped` count entries that
    were never served.
    """

    def __init__(self, max_size: int = 4096) -> None:
        if max_size < 1:
            raise ConfigError(f"a queue of {max_size} guided prompts serves nothing")
        self._max_size = max_size
        self._waiting: dict[str, GuidedPrompt] = {}
        self.dropped = 0
        self.replaced = 0

    def __len__(self) -> int:
        return len(self._waiting)

    def push(self, prompt: GuidedPrompt) -> None:
        """Queue a guided prompt."""
        if not prompt.prefix_ids:
            raise DataError(f"guided prompt {prompt.root!r} has an empty prefix")
        self.replaced += prompt.root in self._waiting
        self._waiting[prompt.root] = prompt
        if len(self._waiting) > self._max_size:
            del self._waiting[next(iter(self._waiting))]
            self.dropped += 1

    def pop(self, count: int) -> list[GuidedPrompt]:
        """Take up to `count` prompts, the longest waiting first."""
        roots = list(self._waiting)[: max(count, 0)]
        return [self._waiting.pop(root) for root in roots]

    def drop_longer(self, max_length: int) -> int:
        """Drop what has more prefix tokens than that; returns how many, which `dropped` counts as well."""
        too_long = [root for root, prompt in self._waiting.items() if len(prompt.prefix_ids) > max_length]
        for root in too_long:
            del self._waiting[root]
        self.dropped += len(too_long)
        return len(too_long)

    def state(self) -> dict[str, Any]:
        """Lists and arrays that `restore` turns into an equal queue."""
        prompts = list(self._waiting.values())
        tokens, length_K = pack([np.array(prompt.prefix_ids) for prompt in prompts], np.int32)
        return {
            "roots": [prompt.root for prompt in prompts],
            "tokens": tokens,
            "length": length_K,
            "mte": np.array([prompt.mte for prompt in prompts], dtype=np.float64),
            "step": np.array([prompt.step for prompt in prompts], dtype=np.int64),
            "sources": [prompt.source for prompt in prompts],
            "dropped": self.dropped,
            "replaced": self.replaced,
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Become the queue whose `state` this is; under a smaller `max_size` the oldest are dropped and counted."""
        self._waiting = {}
        self.dropped, self.replaced = state["dropped"], state["replaced"]
        columns = (state["roots"], unpack(state["tokens"], state["length"]), state["mte"], state["step"])
        for root, tokens, mte, step, source in zip(*columns, state["sources"], strict=True):
            self.push(GuidedPrompt(root, tuple(tokens.tolist()), float(mte), int(step), source))
