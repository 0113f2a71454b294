"""Requests of many callers as few calls of one encoder. A text that cannot be embedded is its caller's loss alone."""

import asyncio
import logging
import time
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
class _Request:
    texts: Sequence[str]
    ends: Sequence[Sequence[int]]
    done: asyncio.Future = field(default_factory=lambda: asyncio.get_running_loop().create_future())


class Batcher:
    """Gathers requests while the encoder is busy, and gives it all that wait, up to `max_texts`, in one call.

    The encoder runs in a thread, one call at a time, so that requests are taken meanwhile. Use from one event loop.
    """

    def __init__(self, encoder: LengthAwareEncoder, max_texts: int = 1024) -> None:
        self._encoder = encoder
        self._max_texts = max_texts
        self._waiting: list[_Request] = []
        self._worker: asyncio.Task | None = None
        self.counts = EmbeddingCounts()

    async def embed(self, texts: Sequence[str], ends: Sequence[Sequence[int]] | None = None) -> list[Embedded]:
        """Vectors of each text, or of its prefixes that end at the given character positions."""
        if ends is None:
            ends = [[len(text)] if isinstance(text, str) else [1] for text in texts]
        request = _Request(texts, ends)
        self._waiting.append(request)
        if self._worker is None or self._worker.done():
            self._worker = asyncio.create_task(self._work())
        return await request.done

    async def _work(self) -> None:
        while self._waiting:
            batch = self._take()
            texts = [text for request in batch for text in request.texts]
            ends = [own for request in batch for own in request.ends]
            started = time.perf_counter()
            answers = await asyncio.to_thread(embed_each, self._encoder, texts, ends)
            self._count(batch, answers, time.perf_counter() - started)
            for request in batch:
                own, answers = answers[: len(request.texts)], answers[len(request.texts) :]
                if not request.done.cancelled():
                    request.done.set_result(own)

    def _take(self) -> list[_Request]:
        batch: list[_Request] = []
        texts = 0
        while self._waiting and (not batch or texts + len(self._waiting[0].texts) <= self._max_texts):
            batch.append(self._waiting.pop(0))
            texts += len(batch[-1].texts)
        return batch

    def _count(self, batch: list[_Request], answers: list[Embedded], seconds: float) -> None:
        self.counts.requests += len(batch)
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
