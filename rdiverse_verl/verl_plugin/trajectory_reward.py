"""Grade whole trajectories, prefix and suffix, and fetch their vectors while other samples are still generated."""

from typing import Any

import numpy as np
import torch
from omegaconf import DictConfig
from tensordict import TensorDict
from verl import DataProto
from verl.experimental.reward_loop.reward_manager import register
from verl.experimental.reward_loop.reward_manager.naive import NaiveRewardManager

from rdiverse_verl.verl_plugin.embedder import Embedder
from rdiverse_verl.verl_plugin.prompt_rows import ground_truth, read_prefix
from rdiverse_verl.verl_plugin.row_fields import PREFIX, ROW_SEED
from rdiverse_verl.verl_plugin.settings import read_settings
from rdiverse_verl.verl_plugin.step_methods import read_step_methods


@register("rdiverse_trajectory")
class TrajectoryRewardManager(NaiveRewardManager):
    """``reward.reward_manager.name=rdiverse_trajectory``: verl's naive manager on prefix + suffix, for every reward.

    ``extra_info.response_length`` tells the reward function the trajectory's exact tokens. A training row also gets
    ``acc`` (score > 0 where the function gives none), ``vector`` (or None) and ``fault``, and ``ungraded`` with the
    reason where its data set row has no ground truth. Such a row scores 0 and is left out of its group.
    """

    def __init__(self, config: DictConfig, tokenizer: Any, compute_score: Any, *args: Any, **kwargs: Any) -> None:
        super().__init__(config, tokenizer, compute_score, *args, **kwargs)
        self.tokenizer: Any = tokenizer
        self.methods = read_step_methods(config)
        self.embedder = Embedder(read_settings(config).embedding) if self.methods.encodes else None

    async def run_single(self, data: DataProto) -> dict[str, Any]:
        item = data[-1:][0]
        row = item.non_tensor_batch
        prefix_ids, _ = read_prefix(str(row.get(PREFIX, "")))
        response_ids = item.batch["responses"][: int(row["response_len"])]
        trajectory_ids = torch.cat([response_ids.new_tensor(prefix_ids), response_ids])
        training = ROW_SEED in row  # a field that our trainers give to training rows alone
        if training and ground_truth(row) is None:
            return {"reward_score": 0.0, "reward_extra_info": _ungraded()}
        result = await super().run_single(_with_response(data, trajectory_ids))
        if training:
            info = result["reward_extra_info"]
            info.setdefault("acc", float(result["reward_score"] > 0))
            info |= {"ungraded": "", **await self._vector(trajectory_ids, info["acc"] > 0)}
        return result

    async def _vector(self, ids: torch.Tensor, correct: bool) -> dict[str, Any]:
        if self.embedder is None or not (self.methods.embeds_all or (self.methods.embeds_correct and correct)):
            return {"vector": None, "fault": ""}
        text = self.tokenizer.decode(ids, skip_special_tokens=True)
        answer = await self.embedder.embed_text(text)
        return {"vector": None if answer.fault else answer.emb_P_D[-1], "fault": answer.fault}


def _with_response(data: DataProto, ids: torch.Tensor) -> DataProto:
    """The last row of ``data`` with another response, its length told to the reward function."""
    row = dict(data[-1:].non_tensor_batch)
    extra_info = dict(row.get("extra_info", [{}])[0] or {}) | {"response_length": len(ids)}
    row["extra_info"] = np.array([extra_info], dtype=object)
    tensors = {"responses": ids[None], "attention_mask": torch.ones_like(ids)[None]}
    return DataProto(batch=TensorDict(tensors, batch_size=1), non_tensor_batch=row)


def _ungraded() -> dict[str, Any]:
    return {"acc": 0.0, "vector": None, "fault": "", "ungraded": "no reward_model.ground_truth in its data set row"}
