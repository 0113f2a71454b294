"""What a skill family is, and what a problem drawn from one looks like."""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from random import Random

NAMES = ("Mia", "Tom", "Ana", "Leo")


@dataclass(frozen=True)
class Problem:
    """One question with everything the three roles need to be taught and scored."""

    question: str
    answer: Fraction
    family: str
    template: str
    program: str
    steps: str


@dataclass(frozen=True)
class Family:
    """One skill: one procedure, hence one program up to its default values, told in several wordings.

    ``draw`` gives the numbers in the order the wording names them, ``work`` the answer and the short reasoning,
    ``code`` the body of the solver program, import lines first. ``plain`` wordings name the skill, ``stories`` hide it.
    ``weight`` is how often the base Challenger writes this family, against the others.
    """

    name: str
    weight: float
    draw: Callable[[Random], tuple[int, ...]]
    work: Callable[..., tuple[Fraction | int, str]]
    code: str
    plain: tuple[str, ...]
    stories: tuple[str, ...]

    @property
    def templates(self) -> dict[str, str]:
        """Every wording by its name, e.g. ``gcd/story-0``."""
        kinds = {"plain": self.plain, "story": self.stories}
        return {f"{self.name}/{kind}-{i}": text for kind, texts in kinds.items() for i, text in enumerate(texts)}

    def program(self, numbers: tuple[int, ...]) -> str:
        """The reference solver in the Coder's style, with these numbers as default arguments."""
        lines = self.code.split("\n")
        imports = [line for line in lines if line.startswith("from ")]
        signature = f"def solver({', '.join(f'n{i}={n}' for i, n in enumerate(numbers, 1))}):"
        return "\n".join([*imports, signature, *(f"    {line}" for line in lines if line not in imports)])

    def problem(self, rng: Random) -> Problem:
        """A random problem of this family."""
        numbers = self.draw(rng)
        template, text = rng.choice(list(self.templates.items()))
        answer, steps = self.work(*numbers)
        slots = {f"n{i}": n for i, n in enumerate(numbers, 1)}
        return Problem(
            question=text.format(who=rng.choice(NAMES), **slots),
            answer=Fraction(answer),
            family=self.name,
            template=template,
            program=self.program(numbers),
            steps=steps,
        )
