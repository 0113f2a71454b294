"""Hostile answers, and a pool that ends with the test that asks for it."""

import json
import os
from pathlib import Path

import pytest

from rdiverse_verl.grading import Limits, configure, equivalent, matching, service, shut_down

# One call that the screen lets through and that runs for hours in C, where no signal handler of Python's gets a turn.
HANG = r"\gcd(9999^{9999},9998^{9999*9999})"


def hostile_answers() -> dict[str, str]:
    """Name -> answer: the ways in which a model's text has been seen to hang, crash or flood a grader."""
    answers = json.loads((Path(__file__).parent / "hostile.json").read_text())
    return {name: answer["piece"] * answer.get("times", 1) for name, answer in answers.items()} | {
        "deep brackets": "(" * 400 + "1" + ")" * 400,
        "deep fractions": r"\frac{1}{" * 300 + "2" + "}" * 300,
        "deep braces": "{" * 1000 + "5" + "}" * 1000,
        "sum of 4000": "+".join(["1"] * 4000),
        "set of 3000": r"\{" + ",".join(map(str, range(3000))) + r"\}",
        "geometric series": "+".join(f"x^{{{power}}}" for power in range(800)),
        "chain of equations": "x=" * 3000 + "42",
    }


@pytest.fixture(params=sorted(hostile_answers()))
def hostile(request):
    """One hostile answer after another."""
    return hostile_answers()[request.param]


@pytest.fixture(scope="session")
def all_hostile():
    """All of them."""
    return list(hostile_answers().values())


@pytest.fixture
def hang():
    """An answer that never ends."""
    return HANG


@pytest.fixture
def pool():
    """A running pool of two workers; its limit leaves honest answers room on a busy machine."""
    matching.forget()
    configure(Limits(seconds=3.0, workers=2))
    equivalent(r"\sin 1", "2")
    yield service.pool()
    shut_down()
    configure(Limits())
    matching.forget()


@pytest.fixture
def alive():
    """Whether a process exists and is no zombie."""

    def is_alive(pid: int) -> bool:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            return False
        return state != "Z" and os.path.exists(f"/proc/{pid}")

    return is_alive
