"""Prompts on their way into a batch: whole data set rows as plain data, with or without a prefix to continue.

Each row of a batch carries its source row as JSON, so that a guided prompt keeps the ground truth of its own problem
through rollout, queue and checkpoint, and a resumed run sees the same values as one never stopped.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from tensordict import NonTensorData, TensorDict
from verl.utils import tensordict_utils as tu

from rdiverse_verl.algorithms.guided_queue import GuidedPrompt
from rdiverse_verl.errors import DataError
from rdiverse_verl.verl_plugin.row_fields import PREFIX, ROOT, SOURCE

Source = dict[str, Any]

_NOT_SOURCE = ("uid", "dummy_tensor", "global_steps")


def ground_truth(source: Mapping[str, Any]) -> Any:
    """A row's ``reward_model.ground_truth``; None where there is none.

    Raises:
        DataError: ``reward_model`` is something else than verl's dictionary.
    """
    reward_model = source.get("reward_model") or {}
    if not isinstance(reward_model, Mapping):
        raise DataError(f"a row's reward_model is {str(reward_model)[:90]!r}; verl reads {{'ground_truth': ...}} there")
    return reward_model.get("ground_truth")


def root_of(source: Source) -> str:
    """The key of a problem: its prompt, data source and ground truth. ``index`` is none, as verl defaults it to 0."""
    gold = ground_truth(source)
    identity = json.dumps([source["raw_prompt"], source.get("data_source"), gold], sort_keys=True)
    return hashlib.blake2b(identity.encode(), digest_size=16).hexdigest()


def sources_of(batch: TensorDict) -> list[Source]:
    """The rows of a batch from verl's data loader as plain data.

    Raises:
        DataError: a column holds what is no plain data, such as images.
    """
    columns = {name: column for name, column in batch.items() if name not in _NOT_SOURCE}
    for name, column in columns.items():
        if isinstance(column, torch.Tensor):
            raise DataError(f"data column {name!r} is a tensor; guided prompts can be made of text rows only")
    values = {
        name: [column.data] * len(batch) if isinstance(column, NonTensorData) else column.tolist()
        for name, column in columns.items()
    }
    return [json.loads(to_json({name: column[i] for name, column in values.items()})) for i in range(len(batch))]


def batch_of(sources: Sequence[Source], guided: Sequence[GuidedPrompt] = ()) -> TensorDict:
    """A batch for rollout: rows to answer from scratch, then guided prompts. The key set is that of all rows."""
    rows = [*sources, *(prompt.source for prompt in guided)]
    names = dict.fromkeys(name for row in rows for name in row)
    columns: dict[str, Any] = {name: [row.get(name) for row in rows] for name in names}
    columns[SOURCE] = [to_json(row) for row in rows]
    columns[ROOT] = [root_of(row) for row in rows]
    columns[PREFIX] = [""] * len(sources) + [to_json({"ids": p.prefix_ids, "mte": p.mte}) for p in guided]
    columns["dummy_tensor"] = torch.zeros((len(rows), 1), dtype=torch.uint8)  # verl's collate function adds one
    return tu.get_tensordict(columns)


def read_prefix(text: str) -> tuple[list[int], float]:
    """Token ids of a row's prefix and their mean token entropy in nats; ``([], 0)`` for a row from scratch."""
    if not text:
        return [], 0.0
    prefix = json.loads(text)
    return prefix["ids"], prefix["mte"]


def to_json(value: Any) -> str:
    """Plain data, numpy's included, as JSON. Raises DataError for anything else."""
    return json.dumps(value, default=_plain)


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    raise DataError(f"a data set row holds a {type(value).__name__}, which is no plain data: {str(value)[:100]!r}")
