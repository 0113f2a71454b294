from collections import defaultdict
from fractions import Fraction
from random import Random

import pytest

from rdiverse_verl.tiny import FAMILIES, heldout_problems, sample_problem
from rdiverse_verl.tiny.problems import is_heldout, sample_weighted_problem


def run_reference(program: str) -> Fraction:
    """What a family's own program returns: reference text of this package, never a model's."""
    scope: dict = {}
    exec(program, scope)
    result = scope["solver"]()
    try:
        return Fraction(result.numerator, result.denominator)
    except AttributeError:
        return Fraction(float(result)).limit_denominator(1000)


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_program_computes_the_answer(family):
    for seed in range(30):
        problem = family.problem(Random(seed))
        assert run_reference(problem.program) == problem.answer, problem


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_steps_are_true_and_end_in_the_answer(family):
    for seed in range(60):
        problem = family.problem(Random(seed))
        equations = [step.split("=") for step in problem.steps.split(", ") if "=" in step]
        for left, right in equations:
            assert eval(left.replace("/", "*Fraction(1)/")) == Fraction(right), problem
        if equations and family.name != "gcd":
            last = Fraction(equations[-1][1]) if family.name != "larger" else None
            assert last in (problem.answer, None), problem


def test_steps_worked_by_hand():
    work = {family.name: family.work for family in FAMILIES}
    assert work["rabbits"](35, 94) == (12, "2*35=70, 94-70=24, 24/2=12")
    assert work["gcd"](12, 18) == (6, "12%18=12, 18%12=6, 12%6=0")
    assert work["larger"](3, 4, 5, 7) == (Fraction(3, 4), "3*7=21, 5*4=20, 21>20")
    assert work["divisors"](12) == (6, "1, 2, 3, 4, 6, 12")
    assert work["share"](2, 6) == (Fraction(1, 4), "2+6=8, 2/8=1/4")


def test_every_number_of_a_question_is_an_argument_in_order():
    for family in FAMILIES:
        for template in family.templates.values():
            slots = [template.index(f"{{n{i}}}") for i in range(1, 5) if f"{{n{i}}}" in template]
            assert slots == sorted(slots), template
            assert len(slots) == family.program((0,) * len(slots)).count("=0"), template


def test_equal_skill_in_other_words_and_equal_words_with_other_skill():
    assert len(FAMILIES) >= 12
    openings = defaultdict(set)
    for family in FAMILIES:
        assert len(family.stories) >= 2
        assert len(family.templates) >= 4
        for template in family.templates.values():
            openings[" ".join(template.split()[:4])].add(family.name)
    assert sum(len(families) >= 2 for families in openings.values()) >= 3


def test_one_program_per_family_whatever_the_wording_and_the_numbers():
    bodies = defaultdict(set)
    for problem in heldout_problems(200, seed=3):
        bodies[problem.family].add(problem.program.split("):\n")[1])
    assert all(len(found) == 1 for found in bodies.values())
    assert len(set.union(*bodies.values())) == len(FAMILIES)


def test_heldout_questions_are_never_sampled_for_training():
    rng = Random(5)
    sampled = {sample(rng).question for sample in (sample_problem, sample_weighted_problem) for _ in range(2000)}
    heldout = {problem.question for problem in heldout_problems(400, seed=0)}
    assert not sampled & heldout
    assert not any(map(is_heldout, sampled))


def test_problems_follow_from_the_seed():
    assert heldout_problems(50, seed=1) == heldout_problems(50, seed=1)
    assert heldout_problems(50, seed=1) != heldout_problems(50, seed=2)
    assert sample_problem(Random(4)) == sample_problem(Random(4))
