"""verl's single-turn agent loop, with a seed of its own for every sample."""

import json
from typing import Any

from verl.experimental.agent_loop.agent_loop import AgentLoopOutput, register
from verl.experimental.agent_loop.single_turn_agent_loop import SingleTurnAgentLoop

from rdiverse_verl.seeds import derive_seed
from rdiverse_verl.verl_plugin.row_fields import COPY, ROW_SEED
from rdiverse_verl.verl_plugin.settings import read_settings


@register("rdiverse_single_turn")
class SeededAgentLoop(SingleTurnAgentLoop):
    """Sampling depends on the run's seed, the step, the row and the session; not on chance or order of arrival."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.run_seed = read_settings(self.config).seed

    async def run(self, sampling_params: dict[str, Any], priority: int = 0, **kwargs: Any) -> AgentLoopOutput:
        seed = derive_seed(self._row_seed(kwargs), "rollout", int(kwargs["session_id"]))
        # a copy, because the sessions of a row share this dict
        return await super().run({**sampling_params, "seed": seed}, priority=priority, **kwargs)

    def _row_seed(self, row: dict[str, Any]) -> int:
        if ROW_SEED in row:
            return int(row[ROW_SEED])
        return derive_seed(self.run_seed, "validate", json.dumps(list(row["raw_prompt"])), int(row.get(COPY, 0)))
