"""Draw problems of the tiny world, for training and held out."""

import hashlib
from random import Random

from rdiverse_verl.seeds import derive_seed
from rdiverse_verl.tiny import algebra_families, everyday_families, number_families
from rdiverse_verl.tiny.family import Family, Problem

FAMILIES: tuple[Family, ...] = everyday_families.FAMILIES + algebra_families.FAMILIES + number_families.FAMILIES


def is_heldout(question: str) -> bool:
    """Whether a question belongs to the tenth of all questions that nothing is ever trained on."""
    return hashlib.blake2b(question.encode(), digest_size=1).digest()[0] < 26


def _problem(rng: Random, family: Family, heldout: bool) -> Problem:
    while True:
        problem = family.problem(rng)
        if is_heldout(problem.question) == heldout:
            return problem


def sample_problem(rng: Random) -> Problem:
    """A training problem, every family equally likely."""
    return _problem(rng, rng.choice(FAMILIES), heldout=False)


def sample_weighted_problem(rng: Random) -> Problem:
    """A training problem, families by their weight: what the base Challenger learns to write."""
    (family,) = rng.choices(FAMILIES, weights=[family.weight for family in FAMILIES])
    return _problem(rng, family, heldout=False)


def heldout_problems(n: int, seed: int) -> list[Problem]:
    """``n`` held-out problems, the families in turn. A family of few questions repeats some."""
    rng = Random(derive_seed(seed, "heldout"))
    return [_problem(rng, FAMILIES[i % len(FAMILIES)], heldout=True) for i in range(n)]
