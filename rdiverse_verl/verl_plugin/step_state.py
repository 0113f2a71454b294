"""State of the step methods in a checkpoint folder: one .npz of plain arrays and JSON, written whole or not at all."""

import hashlib
import json
import logging
import os
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

from rdiverse_verl.errors import StateError
from rdiverse_verl.verl_plugin.prompt_rows import to_json

logger = logging.getLogger(__name__)

FILE = "rdiverse_state.npz"
VERSION = 1
_PLAIN = "json"  # the member that holds all but the arrays

Tree = dict[str, Any]


def save_state(folder: Path, identity: Tree, state: Tree) -> None:
    """Write ``state``, nested dictionaries of arrays and plain data, and what it belongs to."""
    arrays: dict[str, np.ndarray] = {}
    plain = {"version": VERSION, "identity": identity, "state": _without_arrays(state, "", arrays)}
    arrays[_PLAIN] = np.frombuffer(to_json(plain).encode(), dtype=np.uint8)
    folder.mkdir(parents=True, exist_ok=True)
    partial = folder / f"{FILE}.partial"
    with partial.open("wb") as stream:
        np.savez(stream, allow_pickle=False, **arrays)
        stream.flush()
        os.fsync(stream.fileno())
    partial.replace(folder / FILE)


def load_state(folder: Path, identity: Tree) -> Tree | None:
    """The state saved in a checkpoint; None, said in the log, where there is none, as in a baseline's checkpoint.

    Raises:
        StateError: it is damaged, or belongs to another encoder, tokenizer or novelty signal.
    """
    path = folder / FILE
    if not path.is_file():
        logger.warning("%s is missing: this run goes on with empty memories and an empty queue", path)
        return None
    try:
        with np.load(path, allow_pickle=False) as members:
            arrays = {name: members[name] for name in members.files}
        plain = json.loads(arrays.pop(_PLAIN).tobytes())
        saved_version, saved, state = plain["version"], plain["identity"], plain["state"]
    except (OSError, ValueError, KeyError, EOFError, BadZipFile) as error:
        raise StateError(
            f"{path} is damaged ({type(error).__name__}: {error}); resume an earlier checkpoint"
        ) from error
    if saved_version != VERSION:
        raise StateError(f"{path} has layout {saved_version}, this version reads {VERSION}")
    for name, value in identity.items():
        if saved.get(name) != value:
            raise StateError(
                f"{path} was written with {name} {saved.get(name)!r}, this run has {value!r}: its memories do not "
                "compare; resume with the same one, or start anew with trainer.resume_mode=disable"
            )
    return _with_arrays(state, "", arrays)


def tokenizer_id(tokenizer: Any) -> str:
    """A digest of a tokenizer's vocabulary: token ids of another one mean other text."""
    vocabulary = sorted(tokenizer.get_vocab().items())
    return hashlib.sha256(json.dumps(vocabulary).encode()).hexdigest()[:16]


def _without_arrays(tree: Tree, path: str, arrays: dict[str, np.ndarray]) -> Tree:
    rest: Tree = {}
    for name, value in tree.items():
        key = f"{path}{name}"
        if isinstance(value, dict):
            rest[name] = _without_arrays(value, f"{key}.", arrays)
        elif isinstance(value, np.ndarray):
            arrays[key] = value
        else:
            rest[name] = value
    return rest


def _with_arrays(tree: Tree, path: str, arrays: dict[str, np.ndarray]) -> Tree:
    whole = dict(tree)
    for name, value in tree.items():
        if isinstance(value, dict):
            whole[name] = _with_arrays(value, f"{path}{name}.", arrays)
    for key, value in arrays.items():
        head, _, name = key.rpartition(".")
        if head == path.rstrip("."):
            whole[name] = value
    return whole
