"""Which evaluation questions also stand in the training file, word for word or nearly."""

import re
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from data_prep.duplicates import normal_question
from data_prep.prompts import question_of
from rdiverse_verl.dataset import read_rows

# 32 bands of 4: a pair at the threshold is missed with probability (1 - 0.7**4)**32, about 2e-4.
_PERMUTATIONS, _BANDS, _SEED = 128, 32, 20260101
_WORD = re.compile(r"[^\W\d_]+|\d+|[^\w\s]|_")
_SHOWN = 3


@dataclass(frozen=True)
class Pair:
    """An evaluation row and the training row most like it; ``similarity`` is the Jaccard index of word triples."""

    eval_row: int
    train_row: int
    similarity: float
    eval_question: str
    train_question: str


@dataclass(frozen=True)
class Leak:
    """At most one pair an evaluation row: exact where there is one, else the nearest at or above the threshold."""

    eval_rows: int
    exact: list[Pair]
    near: list[Pair]


def find_leak(train: Path, evaluation: Path, threshold: float = 0.7) -> Leak:
    """Compare the questions of two files, without the words of known prompts.

    Exact means equal but for white space, case and math delimiters. Near pairs are proposed by MinHash of fixed
    seed and confirmed by their true Jaccard index: no false pairs, the same result every time, a rare miss.
    """
    train_questions, eval_questions = _questions(train), _questions(evaluation)
    first_row: dict[str, int] = {}
    for row, question in enumerate(train_questions):
        first_row.setdefault(normal_question(question), row)
    exact: list[Pair] = []
    rest: list[int] = []
    for row, question in enumerate(eval_questions):
        twin = first_row.get(normal_question(question))
        if twin is None:
            rest.append(row)
        else:
            exact.append(Pair(row, twin, 1.0, question, train_questions[twin]))
    near = _near(train_questions, sorted(first_row.values()), eval_questions, rest, threshold)
    return Leak(len(eval_questions), exact, near)


def _near(
    train: list[str], train_rows: list[int], evaluation: list[str], eval_rows: list[int], threshold: float
) -> list[Pair]:
    from rensa import RMinHash, RMinHashLSH

    def sketch(shingles: set[str]) -> RMinHash:
        minhash = RMinHash(_PERMUTATIONS, _SEED)
        minhash.update(sorted(shingles))
        return minhash

    index = RMinHashLSH(threshold, _PERMUTATIONS, _BANDS)
    train_shingles = {row: _triples(train[row]) for row in train_rows}
    for row, shingles in train_shingles.items():
        index.insert(row, sketch(shingles))
    pairs = []
    for row in eval_rows:
        shingles = _triples(evaluation[row])
        candidates = [(_jaccard(shingles, train_shingles[twin]), -twin) for twin in index.query(sketch(shingles))]
        similarity, twin = max(candidates, default=(0.0, 0))
        if similarity >= threshold:
            pairs.append(Pair(row, -twin, similarity, evaluation[row], train[-twin]))
    return pairs


def _questions(path: Path) -> list[str]:
    return [question_of(row["prompt"]) for row in read_rows(path)]


def _triples(question: str) -> set[str]:
    """Three words, numbers or symbols in a row; a shorter question whole."""
    words = _WORD.findall(question.casefold())
    return {" ".join(words[i : i + 3]) for i in range(max(1, len(words) - 2))}


def _jaccard(a: set[str], b: set[str]) -> float:
    return len(a & b) / len(a | b)


def print_leak(leak: Leak, console: Console) -> None:
    """Counts and the first examples of each kind."""
    lines = [f"{leak.eval_rows} evaluation questions: {len(leak.exact)} exact, {len(leak.near)} near in training"]
    for kind, pairs in (("exact", leak.exact), ("near", sorted(leak.near, key=lambda pair: -pair.similarity))):
        for pair in pairs[:_SHOWN]:
            lines.append(f"  {kind}: row {pair.eval_row} and training row {pair.train_row} ({pair.similarity:.2f})")
            lines.append(f"    {pair.eval_question[:160]!r}")
            lines.append(f"    {pair.train_question[:160]!r}")
    for line in lines:
        console.print(line, markup=False, highlight=False, soft_wrap=True)
