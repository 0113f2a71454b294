"""Sentence-Transformers encoders."""

import hashlib
import logging
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rdiverse_verl.embedding.device import check_device, texts_per_batch
from rdiverse_verl.embedding.encoder import Window, unit_rows
from rdiverse_verl.embedding.model_files import find_model, hash_files, runs_own_code
from rdiverse_verl.errors import ConfigError

_LOG = logging.getLogger(__name__)
_CACHE_LIMIT = 65_536


class SentenceEncoder:
    """An `Encoder` over a Sentence-Transformers model, with a cache by text.

    On a CPU each text is encoded by itself: the padding and shape of a batch change the last bits of its vectors, and
    two runs would differ when their texts arrive in other company. On an accelerator texts of like length share a
    batch, as many as its free memory holds.

    Raises ConfigError if no model is found under the name or it does not load, and for a device that is not there;
    DataError if its vectors are not finite.
    """

    def __init__(self, name_or_path: str, device: str = "cpu", prompt: str = "") -> None:
        check_device(device)
        folder = find_model(name_or_path)
        self._model = _load(folder, device, trust=runs_own_code(name_or_path))
        self._device = device
        self._prompt = prompt
        self._cache: dict[str, np.ndarray] = {}
        first_1_D = self._model.encode(["width"], show_progress_bar=False)
        self.dim = first_1_D.shape[1]
        suffix = f"-{hashlib.sha256(prompt.encode()).hexdigest()[:8]}" if prompt else ""
        self.id = f"sentence-{self.dim}d-{hash_files(folder)[:16]}{suffix}"
        self.truncated = 0
        unit_rows(first_1_D, (1, self.dim), self.id)

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        """emb_N_D, float32, unit rows; on a CPU a text's vector does not depend on the other texts, to the bit."""
        if len(self._cache) > _CACHE_LIMIT:
            self._cache.clear()
        missing = [text for text in dict.fromkeys(texts) if text not in self._cache]
        if missing:
            self._encode(missing)
        rows = [self._cache[text] for text in texts]
        return np.stack(rows) if rows else np.empty((0, self.dim), dtype=np.float32)

    def windows(self, text: str) -> list[Window]:
        """Runs of whole words that the encoder reads untruncated after its prompt."""
        encoding = self._model.tokenizer(
            text, add_special_tokens=False, truncation=False, verbose=False, return_offsets_mapping=True
        )
        offsets, words = encoding["offset_mapping"], encoding.word_ids(0)
        limit = self._limit() - self._overhead()
        windows, start = [], 0
        while start < len(offsets):
            end = _word_end(words, start, limit)
            windows.append(Window(text[offsets[start][0] : offsets[end - 1][1]], end - start))
            start = end
        return windows or [Window(text, 1)]

    def _encode(self, texts: list[str]) -> None:
        prompted = [self._prompt + text for text in texts]
        length_N = self._lengths(prompted)
        self._count_truncated(length_N)
        for places in self._batches(np.minimum(length_N, self._limit())):
            batch = [prompted[place] for place in places]
            raw_M_D = self._model.encode(batch, batch_size=len(batch), show_progress_bar=False)
            vectors = unit_rows(raw_M_D, (len(batch), self.dim), self.id)
            self._cache.update(zip([texts[place] for place in places], vectors, strict=True))

    def _batches(self, length_N: np.ndarray) -> Iterator[list[int]]:
        order = np.argsort(-length_N, kind="stable").tolist()
        while order:
            count = texts_per_batch(self._device, int(length_N[order[0]]), self._model[0].auto_model.config)
            yield order[:count]
            order = order[count:]

    def _lengths(self, texts: list[str]) -> np.ndarray:
        return np.array(
            [len(ids) for ids in self._model.tokenizer(texts, truncation=False, verbose=False)["input_ids"]]
        )

    def _limit(self) -> int:
        return self._model.max_seq_length or 1 << 30

    def _overhead(self) -> int:
        return int(self._lengths([self._prompt])[0])

    def _count_truncated(self, length_N: np.ndarray) -> None:
        too_long = int((length_N > self._limit()).sum())
        if too_long:
            self.truncated += too_long
            _LOG.warning(
                "%s reads %s tokens; %d of %d texts are longer", self.id, self._limit(), too_long, len(length_N)
            )


def _load(folder: Path, device: str, trust: bool) -> Any:
    from sentence_transformers import SentenceTransformer  # 6 s to import
    from transformers.utils.logging import disable_progress_bar

    disable_progress_bar()  # of loading a few megabytes, in the middle of a run's own progress
    try:
        model = SentenceTransformer(str(folder), device=device, local_files_only=True, trust_remote_code=trust)
    except (ImportError, OSError, ValueError, AttributeError) as error:
        raise ConfigError(f"the encoder in {folder} does not load: {type(error).__name__}: {error}") from error
    return model.float().eval()


def _word_end(words: list[int | None], start: int, limit: int) -> int:
    """End of the longest run of whole words of at most `limit` tokens; inside a word that is longer than that."""
    end = min(start + limit, len(words))
    whole = end
    while whole < len(words) and whole > start and words[whole] is not None and words[whole] == words[whole - 1]:
        whole -= 1
    return whole if whole > start else end
