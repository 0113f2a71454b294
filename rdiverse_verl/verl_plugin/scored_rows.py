"""A step's rows as the reward manager scored them, in the batch's order."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import transfer_queue as tq
from transfer_queue import KVBatchMeta
from verl.utils import tensordict_utils as tu

from rdiverse_verl.algorithms.groups import Groups, group_by_key
from rdiverse_verl.algorithms.hard_groups import hard_groups
from rdiverse_verl.errors import ConfigError, DataError, StateError
from rdiverse_verl.verl_plugin.row_fields import PREFIX, ROOT


@dataclass(frozen=True, eq=False)
class ScoredRows:
    """N rows. ``out_N`` marks what belongs to no group: verl's padding, which copies row 0, and ungraded rows."""

    keys: list[str]
    uid_N: list[str]
    out_N: np.ndarray
    ungraded_N: np.ndarray
    correct_N: np.ndarray
    score_N: np.ndarray
    emb_N_D: np.ndarray  # float32, unit rows where there is a vector, else 0
    has_vector_N: np.ndarray
    fault_N: list[str]  # why a vector that was asked for is not there
    root_N: list[str]  # ExTra only: whose memory a row belongs to
    prefix_N: list[str]  # ExTra only: what a guided row continues, see `prompt_rows.read_prefix`

    @cached_property
    def groups(self) -> Groups:
        return group_by_key(self.keys, self.out_N)

    @property
    def guided_N(self) -> np.ndarray:
        """bool, rows of a group that continue a prefix."""
        return np.array([bool(prefix) for prefix in self.prefix_N]) & ~self.out_N

    def hard_B(self) -> np.ndarray:
        """bool, see `hard_groups`."""
        return hard_groups(self.correct_N, self.groups)


def read_scored_rows(batch: KVBatchMeta, dim: int, with_roots: bool) -> ScoredRows:
    """From the data queue. ``dim`` is the encoder's width.

    Raises:
        ConfigError: the rows were not scored by our reward manager.
        DataError: a vector of another width.
        StateError: with ExTra, rows from an asynchronous checkpoint that was written without it.
    """
    fields = ["uid", "extra_fields", "rm_scores", *([ROOT, PREFIX] if with_roots else [])]
    data = tq.kv_batch_get(keys=batch.keys, partition_id=batch.partition_id, select_fields=fields)
    if with_roots and ROOT not in data:
        raise StateError(
            "some rows of this batch were fetched by a run without ExTra, whose checkpoint this run continues: resume "
            "it with the estimator it had, or start anew with trainer.resume_mode=disable"
        )
    infos = [tu.unwrap_non_tensor_data(extra)["reward_extra_info"] for extra in data["extra_fields"]]
    padding_N = np.array([bool(tag.get("is_padding", False)) for tag in batch.tags])
    _check(infos[0], batch.keys[0])
    ungraded_N = np.array([bool(info["ungraded"]) for info in infos]) & ~padding_N
    out_N = padding_N | ungraded_N
    emb_N_D, has_vector_N = _vectors(infos, out_N, dim, batch.keys)
    texts = {name: [str(tu.unwrap_non_tensor_data(value)) for value in data[name]] for name in fields if name in _TEXTS}
    return ScoredRows(
        keys=list(batch.keys),
        uid_N=texts["uid"],
        out_N=out_N,
        ungraded_N=ungraded_N,
        correct_N=np.array([info["acc"] > 0 for info in infos]) & ~out_N,
        score_N=np.array([float(row.sum()) for row in data["rm_scores"].unbind()]),
        emb_N_D=emb_N_D,
        has_vector_N=has_vector_N,
        fault_N=["" if out else info["fault"] for info, out in zip(infos, out_N, strict=True)],
        root_N=texts.get(ROOT, []),
        prefix_N=texts.get(PREFIX, [""] * len(infos)),
    )


_TEXTS = ("uid", ROOT, PREFIX)


def _check(info: dict[str, Any], key: str) -> None:
    missing = [name for name in ("acc", "vector", "fault", "ungraded") if name not in info]
    if missing:
        raise ConfigError(
            f"row {key} was scored without {', '.join(missing)}: set reward.reward_manager.name=rdiverse_trajectory"
        )


def _vectors(
    infos: list[dict[str, Any]], out_N: np.ndarray, dim: int, keys: list[str]
) -> tuple[np.ndarray, np.ndarray]:
    emb_N_D = np.zeros((len(infos), dim), dtype=np.float32)
    has_vector_N = np.zeros(len(infos), dtype=bool)
    for i, info in enumerate(infos):
        if out_N[i] or info["vector"] is None:
            continue
        if len(info["vector"]) != dim:
            raise DataError(f"row {keys[i]} has a vector of {len(info['vector'])} numbers, the encoder's have {dim}")
        emb_N_D[i], has_vector_N[i] = info["vector"], True
    return emb_N_D, has_vector_N
