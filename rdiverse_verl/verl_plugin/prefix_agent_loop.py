"""The seeded single-turn agent loop, for rows that may carry a prefix of the answer to continue (ExTra, App. B.4)."""

from typing import Any

from verl.experimental.agent_loop.agent_loop import AgentLoopOutput, register

from rdiverse_verl.verl_plugin.prompt_rows import read_prefix
from rdiverse_verl.verl_plugin.row_fields import PREFIX
from rdiverse_verl.verl_plugin.seeded_agent_loop import SeededAgentLoop


@register("rdiverse_prefix")
class PrefixAgentLoop(SeededAgentLoop):
    """The prefix is context: its tokens end the prompt, the response is the suffix, within what budget it leaves.

    Token ids are appended, not text: tokenised again, a prefix could become other tokens than those sampled and scored.
    """

    prefix_ids: tuple[int, ...] = ()  # one instance serves one trajectory

    async def run(self, sampling_params: dict[str, Any], priority: int = 0, **kwargs: Any) -> AgentLoopOutput:
        ids, _ = read_prefix(kwargs.get(PREFIX, ""))
        if ids:
            self.prefix_ids = tuple(ids)
            sampling_params = {**sampling_params, "max_tokens": self.response_length - len(ids)}
        return await super().run(sampling_params, priority=priority, **kwargs)

    async def ct_build_initial_tokens(self, *args: Any, **kwargs: Any) -> list[int]:
        # after verl has cut the prompt to its own limit, which the prefix does not count against
        return [*await super().ct_build_initial_tokens(*args, **kwargs), *self.prefix_ids]
