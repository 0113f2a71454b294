"""Texts of many callers as few calls of one encoder. A text that cannot be embedded is its caller's loss alone."""

import asyncio
import logging
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from rdiverse_verl.embedding.length_aware import LengthAwareEncoder

_LOG = logging.getLogger(__name__)

EMPTY_TEXT = "empty text"  # the one fault that lies in the text, not in the encoder


@dataclass(frozen=True)
class Embedded:
    """Vectors of the prefixes of one text, or why there are none.

    Attributes:
        emb_P_D: float32 unit rows; no rows where `fault` is set.
        fault: "" or what was wrong with the text or its vectors.
    """

    emb_P_D: np.ndarray
    fault: str = ""


@dataclass
class EmbeddingCounts:
    """What an encoder has done so far. Seconds are those of encoding."""

    requests: int = 0
    texts: int = 0
    calls: int = 0
    faults: int = 0
    truncated: int = 0
    seconds: float = 0.0


@dataclass
class _Asked:
    text: str
    ends: Sequence[int]
    done: asyncio.Future[Embedded] = field(default_factory=lambda: asyncio.get_running_loop().create_future())


class Batcher:
    """Gathers texts while the encoder is busy, and gives it all that wait, up to `max_texts`, in one call.

    The encoder runs in a thread, one call at a time, so that requests are taken meanwhile. Use from one event loop.
    """

    def __init__(self, encoder: LengthAwareEncoder, max_texts: int = 1024) -> None:
        self._encoder = encoder
        self._max_texts = max_texts
        self._waiting: deque[_Asked] = deque()
        self._worker: asyncio.Task | None = None
        self.counts = EmbeddingCounts()

    async def embed(self, texts: Sequence[str], ends: Sequence[Sequence[int]] | None = None) -> list[Embedded]:
        """Vectors of each text, or of its prefixes that end at the given character positions."""
        if ends is None:
            ends = [[len(text)] if isinstance(text, str) else [1] for text in texts]
        asked = [_Asked(text, own) for text, own in zip(texts, ends, strict=True)]
        self._waiting += asked
        self.counts.requests += 1
        if self._worker is None or self._worker.done():
            self._worker = asyncio.create_task(self._work())
        return await asyncio.gather(*(one.done for one in asked))

    async def _work(self) -> None:
        while batch := self._take():
            texts, ends = [one.text for one in batch], [one.ends for one in batch]
            started = time.perf_counter()
            answers = await asyncio.to_thread(embed_each, self._encoder, texts, ends)
            self._count(answers, time.perf_counter() - started)
            for one, answer in zip(batch, answers, strict=True):
                if not one.done.cancelled():
                    one.done.set_result(answer)

    def _take(self) -> list[_Asked]:
        batch: list[_Asked] = []
        while self._waiting and len(batch) < self._max_texts:
            one = self._waiting.popleft()
            if not one.done.cancelled():
                batch.append(one)
        return batch

    def _count(self, answers: list[Embedded], seconds: float) -> None:
        self.counts.texts += len(answers)
        self.counts.calls += 1
        self.counts.faults += sum(bool(answer.fault) for answer in answers)
        self.counts.truncated = self._encoder.truncated
        self.counts.seconds += seconds


def embed_each(encoder: LengthAwareEncoder, texts: Sequence[str], ends: Sequence[Sequence[int]]) -> list[Embedded]:
    """Vectors of each text's prefixes; what fails in company is tried alone, to find which text it is."""
    answers = [Embedded(np.empty((0, encoder.dim), dtype=np.float32), _fault(text)) for text in texts]
    sound = [place for place, answer in enumerate(answers) if not answer.fault]
    if sound:
        found = _encode(encoder, [texts[place] for place in sound], [ends[place] for place in sound])
        for place, answer in zip(sound, found, strict=True):
            answers[place] = answer
    for answer in answers:
        if answer.fault:
            _LOG.warning("a text has no vector: %s", answer.fault)
    return answers


def _fault(text: object) -> str:
    if not isinstance(text, str):
        return f"not a text but {type(text).__name__}"
    return "" if text.strip() else EMPTY_TEXT


def _encode(encoder: LengthAwareEncoder, texts: list[str], ends: list[Sequence[int]]) -> list[Embedded]:
    try:
        return [Embedded(emb_P_D) for emb_P_D in encoder.encode_prefixes(texts, ends)]
    except Exception as error:  # of any encoder, for any reason: the fault is told for each text
        if len(texts) > 1:
            return [answer for text, own in zip(texts, ends, strict=True) for answer in _encode(encoder, [text], [own])]
        return [Embedded(np.empty((0, encoder.dim), dtype=np.float32), f"{type(error).__name__}: {error}")]
