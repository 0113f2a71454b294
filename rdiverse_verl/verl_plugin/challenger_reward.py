"""Judge each Challenger sample while others are still generated: Solver votes, program, vector, nearest memory."""

import asyncio
from typing import Any

import numpy as np
from omegaconf import DictConfig
from verl import DataProto
from verl.experimental.reward_loop.reward_manager import register
from verl.experimental.reward_loop.reward_manager.base import RewardManagerBase

from rdiverse_verl.algorithms.uncertainty import uncertainty_reward
from rdiverse_verl.errors import RdiverseError
from rdiverse_verl.grading import extract, vote
from rdiverse_verl.roles import challenger, coder, solver
from rdiverse_verl.roles.malformed import MalformedReply
from rdiverse_verl.seeds import derive_seed
from rdiverse_verl.verl_plugin.judged import Judged
from rdiverse_verl.verl_plugin.row_fields import ROW_SEED
from rdiverse_verl.verl_plugin.served_model import ServedModel
from rdiverse_verl.verl_plugin.settings import read_challenger
from rdiverse_verl.verl_plugin.skill_measure import SkillMeasure


@register("rdiverse_challenger")
class ChallengerRewardManager(RewardManagerBase):
    """``reward.reward_manager.name=rdiverse_challenger``, for ``trainer.v1.trainer_mode=rdiverse_challenger``.

    ``reward_score`` is R_unc alone; the trainer, which sees the whole batch, replaces it by R_total.
    """

    def __init__(
        self,
        config: DictConfig,
        tokenizer: Any,
        compute_score: Any,
        reward_router_address: str,
        reward_model_tokenizer: Any = None,
    ) -> None:
        super().__init__(config, tokenizer, compute_score)
        self.tokenizer: Any = tokenizer
        self.settings = read_challenger(config)
        service = self.settings.service
        solver_url = f"http://{reward_router_address}"
        self.solver = ServedModel("frozen Solver", solver_url, config.reward.reward_model.model_path, service)
        self.coder = ServedModel("Coder", self.settings.coder.url, self.settings.coder.model, service)
        self.measure = SkillMeasure(self.settings.skill, self.settings.memory)
        self.failure: RdiverseError | None = None

    async def run_single(self, data: DataProto) -> dict[str, Any]:
        item = data[-1:][0]
        seed = derive_seed(int(item.non_tensor_batch[ROW_SEED]), "judge", int(item.non_tensor_batch["session_id"]))
        try:
            if self.failure is not None:
                raise self.failure  # no sample waits for a dead service again
            judged = await self._judge(self._text(item), seed)
        except RdiverseError as error:
            # verl logs an exception raised here and trains on the samples that are left; a field reaches the trainer
            self.failure = error
            judged = Judged(failure=str(error))
        scored = judged.valid and not judged.failure
        score = uncertainty_reward(np.array([judged.p_hat]), self.settings.uncertainty_scale)[0] if scored else 0.0
        return {"reward_score": float(score), "reward_extra_info": judged.record()}

    def _text(self, item: Any) -> str:
        responses = item.batch["responses"]
        length = item.batch["attention_mask"][-responses.shape[-1] :].sum()
        return self.tokenizer.decode(responses[:length], skip_special_tokens=True)

    async def _judge(self, text: str, seed: int) -> Judged:
        try:
            proposal = challenger.parse(text)
        except MalformedReply as malformed:
            return Judged(invalid=malformed.reason)
        (label, p_hat), program = await asyncio.gather(
            self._vote(proposal.question, seed), self._program(proposal.question, seed)
        )
        return Judged(question=proposal.question, answer=proposal.answer, label=label, p_hat=p_hat, **program)

    async def _vote(self, question: str, seed: int) -> tuple[str, float]:
        """The majority answer of m Solver samples and its share p-hat (Eq. 2 and 4)."""
        sampling = self.settings.solver.model_dump()
        replies = await self.solver.ask(solver.messages(question), n=sampling.pop("samples"), seed=seed, **sampling)
        result = await asyncio.to_thread(vote, [extract(reply.text) for reply in replies])
        return result.label or "", float(result.share)

    async def _program(self, question: str, seed: int) -> dict[str, Any]:
        """The greedy program and where it lies (Eq. 7, 8 and 10), or why there is none; a cut-off reply is retried."""
        messages, budget = coder.messages(question), self.settings.coder.max_tokens
        [reply] = await self.coder.ask(messages, seed=seed, temperature=0.0, max_tokens=budget)
        if reply.truncated:
            [reply] = await self.coder.ask(messages, seed=seed, temperature=0.0, max_tokens=2 * budget)
        try:
            code = coder.parse(reply.text)
        except MalformedReply as malformed:
            return {"sam_failure": malformed.reason}
        return {"code": code, **await self.measure.place(code)}
