"""Reference programs from which the scale of the skill embedding is set."""

from random import Random

from rdiverse_verl.seeds import derive_seed
from rdiverse_verl.tiny.problems import FAMILIES

PROGRAMS_PER_FAMILY = 4


def calibration_programs() -> list[str]:
    """Solver programs of every skill in equal parts, for the fixed mean vector that code embeddings are centred by.

    Embeddings of short programs sit close together. Centred by this mean and with default values stripped, programs of
    different families have cosines below 0.35 (all-MiniLM-L6-v2), so the paper's thresholds of 0.5 separate them.
    """
    rng = Random(derive_seed("calibration"))
    return [family.program(family.draw(rng)) for family in FAMILIES for _ in range(PROGRAMS_PER_FAMILY)]
