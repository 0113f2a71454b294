"""A local copy of every data set: a few rows in the original layout, with the oddities that are known of it."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

Rows = list[dict[str, Any]]
DAPO_PROMPT = (
    "Solve the following math problem step by step. The last line of your response should be of the form Answer: "
    "$Answer (without quotes) where $Answer is the answer to the problem.\n\n{}\n\nRemember to put your answer on its "
    'own line after "Answer:".'
)


def parquet(file: Path, rows: Rows) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist(rows), file)


def jsonl(file: Path, rows: Rows) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")


def gsm8k(folder: Path) -> None:
    rows = [
        {"question": "Tom has 3 apples and eats 1.", "answer": "He has 3-1=<<3-1=2>>2 apples.\n#### 2"},
        {"question": "From 2 it falls by 5.", "answer": "It goes from 2 to -3\n#### -3"},
        {"question": "A big debt.", "answer": "#### is a mark. So\n#### -1,234.5"},
        {"question": "Seven more.", "answer": "Plus 7.\n#### +7"},
        {"question": "Nobody knows.", "answer": "I do not know"},
        {"question": "Tom  has 3 apples and eats 1.", "answer": "#### 2"},
    ]
    parquet(folder / "main" / "train-00000-of-00001.parquet", rows)
    parquet(folder / "main" / "test-00000-of-00001.parquet", rows[:1] + rows[:1])
    parquet(folder / "socratic" / "train-00000-of-00001.parquet", [{"question": "no", "answer": "#### 0"}])


def math_train(folder: Path) -> None:
    common = {"level": "Level 2", "type": "Algebra"}
    algebra = [
        {"problem": "Half of 1?", "solution": "It is $\\boxed{\\frac{1}{2}}$."},
        {"problem": "One plus one?", "solution": "So $\\boxed 2$."},
        {"problem": "Which set?", "solution": "First $\\boxed{1}$ was tried, but\n$\\fbox{\\{1,2\\}}$ is right."},
        {"problem": "Nothing?", "solution": "Therefore \\boxed{}."},
    ]
    parquet(folder / "algebra" / "train-00000-of-00001.parquet", [row | common for row in algebra])
    geometry = [
        {"problem": "Angle?", "solution": "$\\boxed{72^\\circ}$"},
        {"problem": "Half of  1?", "solution": "\\boxed{0.5}"},
    ]
    parquet(folder / "geometry" / "train-00000-of-00001.parquet", [row | common for row in geometry])
    parquet(folder / "algebra" / "test-00000-of-00001.parquet", [algebra[0] | common])


def math500(folder: Path) -> None:
    row = {"problem": "Polar?", "solution": "...", "subject": "Precalculus", "level": 2}
    answers = ["\\left( 3, \\frac{\\pi}{2} \\right)", "\\text{Evelyn}", "x \\in [-2,7]", "10,080", "\\$32,\\!348"]
    jsonl(
        folder / "test.jsonl",
        [
            row | {"answer": answer, "unique_id": f"test/{n}.json", "problem": f"Polar {n}?"}
            for n, answer in enumerate(answers)
        ],
    )


def dapo_math(folder: Path) -> None:
    def row(problem: str, gold: str, id: str) -> dict[str, Any]:
        return {
            "data_source": "math_dapo",
            "prompt": [{"content": DAPO_PROMPT.format(problem), "role": "user"}],
            "ability": "MATH",
            "reward_model": {"ground_truth": gold, "style": "rule-lighteval/MATH_v2"},
            "extra_info": {"index": id},
        }

    rows = [
        row("Find $x$ if $x=34$.", "34", "9a9b6eb4"),
        row("Find -y.", "-12", "b426d104"),
        row("设 $a=1$，求 $a$。", "1", "ab"),
    ]
    odd = [row("Find  \\(x\\) if \\( x=34 \\).", "34", "spaced"), row("Find -y.", "12", "conflict")]
    parquet(folder / "data" / "dapo-math-17k.parquet", rows * 5 + odd)


def open_rs(folder: Path) -> None:
    rows = [
        {"problem": "Add 1 and 2.", "solution": "It is $\\boxed{3}$.", "answer": "3", "level": "Easy"},
        {"problem": "Solve.", "solution": "So \\boxed{\\sqrt{2}}", "answer": "", "level": "Hard"},
        {"problem": "Prove it.", "solution": "Obvious.", "answer": "", "level": "Hard"},
        {"problem": "A pair?", "solution": "$\\boxed{(1,2)}$", "answer": "$(1,2)$", "level": "Hard"},
    ]
    parquet(folder / "data" / "train-00000-of-00001.parquet", rows)


def amc23(folder: Path) -> None:
    rows = [
        {"id": n, "question": f"How many {n}?", "answer": a, "url": "https://"}
        for n, a in enumerate([27.0, 36.0, 45.5])
    ]
    jsonl(folder / "test.jsonl", rows)


def minerva(folder: Path) -> None:
    rows = [
        {"problem": "How far?", "answer": "5.0 \\text{ cm}", "idx": 0},
        {"problem": "How bright?", "answer": "4.5e33", "idx": 1},
        {"problem": "Find the law.", "answer": "x=v_{0}t", "idx": 2},
    ]
    jsonl(folder / "test.jsonl", rows)


def olympiadbench(folder: Path) -> None:
    base = {
        "context": None,
        "modality": "Text-only",
        "is_multiple_answer": False,
        "unit": None,
        "question_type": "Open-ended",
    }
    rows = [
        {"id": 1606, "question": "One?", "final_answer": ["$2$"]},
        {"id": 1607, "question": "Two forms?", "final_answer": ["2", "\\frac{4}{2}"]},
        {"id": 1608, "question": "All roots?", "final_answer": ["-1,3"], "is_multiple_answer": True},
        {"id": 1609, "question": "All, listed?", "final_answer": ["1", "7"], "is_multiple_answer": True},
        {"id": 1610, "question": "And then?", "final_answer": ["5"], "context": "Let $n=5$."},
        {"id": 1611, "question": "Prove?", "final_answer": []},
        {"id": 1612, "question": "Seen?", "final_answer": ["1"], "modality": "Multimodal"},
    ]
    jsonl(folder / "test.jsonl", [base | row for row in rows])


def aime24(folder: Path) -> None:
    rows = [
        {"id": 60 + n, "problem": f"Walk {n}.", "solution": "", "answer": a, "url": "", "year": "2024"}
        for n, a in enumerate(["204", "025", "073"])
    ]
    parquet(folder / "data" / "train-00000-of-00001.parquet", rows * 32)


def aime25(folder: Path) -> None:
    rows = [{"problem": "Bases.", "answer": "70", "id": "0"}, {"problem": "Angles.", "answer": "336^\\circ", "id": "1"}]
    parquet(folder / "data" / "train-00000-of-00001-243207c6c994e1bd.parquet", rows)
    parquet(folder / "part1" / "train-00000-of-00001.parquet", rows[:1])


def mmlu_pro(folder: Path) -> None:
    base = {"cot_content": "", "category": "math", "src": "x"}
    rows = [
        {"question_id": 70, "question": "Which?", "options": ["one", "two", "three"], "answer": "B", "answer_index": 1},
        {
            "question_id": 71,
            "question": "Padded?",
            "options": ["a", "b", "N/A", "N/A"],
            "answer": "A",
            "answer_index": 0,
        },
        {"question_id": 72, "question": "Wrong?", "options": ["a", "b"], "answer": "B", "answer_index": 0},
    ]
    parquet(folder / "data" / "test-00000-of-00001.parquet", [row | base for row in rows])
    parquet(folder / "data" / "validation-00000-of-00001.parquet", [rows[0] | base])


def supergpqa(folder: Path) -> None:
    base = {
        "discipline": "Science",
        "field": "Physics",
        "subfield": "Optics",
        "difficulty": "hard",
        "is_calculation": False,
    }
    rows = [
        {"uuid": "a", "question": "Light?", "options": ["wave", "ray"], "answer": "ray", "answer_letter": "B"},
        {"uuid": "b", "question": "Twice?", "options": ["x", "x", "y"], "answer": "x", "answer_letter": "B"},
        {"uuid": "c", "question": "Wrong?", "options": ["x", "y"], "answer": "x", "answer_letter": "B"},
    ]
    jsonl(folder / "SuperGPQA-all.jsonl", [row | base for row in rows])


def bbeh(folder: Path) -> None:
    rows = [
        {"task": "boolean expressions", "input": "Which is true?\n(A) x", "target": "(A)", "mini": 1},
        {"task": "word sorting", "input": "Sort.", "target": "apple, banana", "mini": 0},
        {"task": "time", "input": "When?", "target": "2:30 PM", "mini": 0},
        {"task": "buggy tables", "input": "How many?", "target": "12.5", "mini": 0},
    ]
    jsonl(folder / "train.jsonl", rows)


LAYOUTS = (
    gsm8k,
    math_train,
    math500,
    dapo_math,
    open_rs,
    amc23,
    minerva,
    olympiadbench,
    aime24,
    aime25,
    mmlu_pro,
    supergpqa,
    bbeh,
)


@pytest.fixture
def layout(tmp_path: Path) -> Callable[[str], Path]:
    """Writes the local copy of a data set and returns its folder."""

    def write(name: str) -> Path:
        next(write for write in LAYOUTS if write.__name__ == name)(tmp_path / name)
        return tmp_path / name

    return write


@pytest.fixture(scope="session")
def chat_tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Saves a tokenizer that splits at spaces, with a chat template; returns its folder."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    def save(template: str) -> Path:
        tokenizer = Tokenizer(models.WordLevel({"<unk>": 0}, unk_token="<unk>"))
        tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
        fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, unk_token="<unk>")
        if template:
            fast.chat_template = template
        folder: Path = tmp_path_factory.mktemp("tokenizer")
        fast.save_pretrained(folder)
        return folder

    return save
