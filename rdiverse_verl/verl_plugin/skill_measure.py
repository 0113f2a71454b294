"""Where a program lies in skill space, and how near to the frozen memory (R-Diverse, Eq. 7, 8 and 10)."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from rdiverse_verl.embedding import load_encoder
from rdiverse_verl.memory import FrozenMemory
from rdiverse_verl.skills import SkillSpace, load_centre
from rdiverse_verl.verl_plugin.settings import Memory, Skill


class SkillMeasure:
    """Encoder and memory in a thread of their own, which starts to load them at once."""

    def __init__(self, skill: Skill, memory: Memory) -> None:
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="skill")
        self._opened = self._thread.submit(_open, skill, memory)

    async def place(self, code: str) -> dict[str, Any]:
        """The fields ``vector_D``, ``p_max``, ``p_mean`` and ``memory_size`` of a ``Judged``.

        Raises:
            ConfigError, StateError: encoder, centre or memory cannot be opened, or do not belong together.
            DataError: the encoder returned no finite vector.
        """
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._place, code)

    def _place(self, code: str) -> dict[str, Any]:
        space, memory = self._opened.result()
        emb_1_D = space.vectors([code])
        [p_max], [p_mean] = memory.similarity(emb_1_D)
        return {"vector_D": emb_1_D[0], "p_max": float(p_max), "p_mean": float(p_mean), "memory_size": len(memory)}


def _open(skill: Skill, memory: Memory) -> tuple[SkillSpace, FrozenMemory]:
    space = SkillSpace(load_encoder(skill.encoder, skill.device), load_centre(skill.centre) if skill.centre else None)
    if memory.path is None:
        return space, FrozenMemory([], space.dim)
    return space, FrozenMemory.open(memory.path, space.id, space.dim, memory.before_iteration)
