"""`data leak`: exact and near twins between files, whatever prompt they are asked with."""

from pathlib import Path

import pytest
from rich.console import Console

from data_prep.leak import find_leak, print_leak
from data_prep.prompts import DRA, EXTRA, RDIVERSE, Prompt
from rdiverse_verl.dataset import make_row, write_rows

LONG = (
    "A train leaves the station at noon and travels east at 60 miles per hour while a second train leaves the same "
    "station two hours later and travels west at 45 miles per hour. How far apart are they at six in the evening?"
)
OTHER = (
    "Let $ABC$ be a triangle with incentre $I$ and circumradius $R$. Find the length of $AI$ in terms of its angles."
)


def file(path: Path, prompt: Prompt, *questions: str) -> Path:
    rows = [
        make_row(data_source="x", prompt=prompt.messages(question), ground_truth="1", index=index, split="train")
        for index, question in enumerate(questions)
    ]
    write_rows(path, rows)
    return path


def test_twins_are_found_across_prompts(tmp_path: Path) -> None:
    train = file(tmp_path / "train.parquet", EXTRA, OTHER, LONG, "Find $x$ if $2x=6$.")
    evaluation = file(
        tmp_path / "eval.parquet",
        RDIVERSE,
        "What is the sum of the first ten odd primes?",
        "find \\(x\\)  if \\( 2x = 6 \\).",
        LONG.replace("six", "seven"),
        "Find $x$ if $3x=6$, where $x$ is real.",
    )
    leak = find_leak(train, evaluation)
    assert [(pair.eval_row, pair.train_row) for pair in leak.exact] == [(1, 2)]
    assert [(pair.eval_row, pair.train_row) for pair in leak.near] == [(2, 1)]
    words = 43  # of LONG, the full stops and the question mark included
    assert leak.near[0].similarity == pytest.approx((words - 2 - 3) / (words - 2 + 3), abs=0.03)
    assert leak == find_leak(train, evaluation)


def test_the_prompts_own_words_make_no_twins(tmp_path: Path) -> None:
    train = file(tmp_path / "train.parquet", EXTRA, "Add 1 and 2.", "Name a prime.")
    evaluation = file(tmp_path / "eval.parquet", EXTRA, "Multiply seven by eight.", "What is a group?")
    leak = find_leak(train, evaluation)
    assert (leak.exact, leak.near) == ([], [])


def test_a_stricter_threshold_finds_less(tmp_path: Path) -> None:
    train = file(tmp_path / "train.parquet", DRA, LONG)
    evaluation = file(tmp_path / "eval.parquet", DRA, LONG.replace("six", "seven"))
    assert len(find_leak(train, evaluation, threshold=0.8).near) == 1
    assert find_leak(train, evaluation, threshold=0.99).near == []


def test_every_near_twin_of_many_is_found(tmp_path: Path) -> None:
    """300 long questions, each with one word changed, against all of them."""
    names = [f"{a}{b}" for a in "abcdefghijklmnopqrst" for b in "uvwxyzabcdefghi"]
    questions = [" ".join(f"{name}{i}x" for i in range(30)) for name in names]
    changed = [question.replace("15x", "changed") for question in questions]
    train = file(tmp_path / "train.parquet", DRA, *questions)
    leak = find_leak(train, file(tmp_path / "eval.parquet", DRA, *changed), threshold=0.6)
    assert [(pair.eval_row, pair.train_row) for pair in leak.near] == [(row, row) for row in range(300)]


def test_print(tmp_path: Path) -> None:
    train = file(tmp_path / "train.parquet", DRA, LONG, OTHER)
    leak = find_leak(train, file(tmp_path / "eval.parquet", DRA, OTHER, LONG.replace("six", "seven")))
    console = Console(record=True, width=300)
    print_leak(leak, console)
    text = console.export_text()
    assert text.startswith(
        "2 evaluation questions: 1 exact, 1 near in training\n  exact: row 0 and training row 1 (1.00)"
    )
    assert "near: row 1 and training row 0 (0." in text
