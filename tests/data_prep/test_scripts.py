"""Every script on a local copy in the original layout: what is kept, what is refused; the file passes `data verify`."""

import importlib
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from data_prep import challenger
from data_prep.prepare import Report, prepare
from data_prep.prompts import DAPO, DRA, EXTRA, MATH_PROMPTS
from data_prep.verify import verify
from rdiverse_verl.dataset import Row, read_rows
from rdiverse_verl.errors import DataError
from rdiverse_verl.roles import challenger as challenger_role
from rdiverse_verl.roles import solver

# script -> split -> golds in order, duplicates removed, rows refused by reason
EXPECTED: dict[str, dict[str, tuple[list[str], int, dict[str, int]]]] = {
    "gsm8k": {
        "train": (["2", "-3", "-1234.5", "7"], 1, {"no number after ####": 1}),
        "test": (["2", "2"], 0, {}),
    },
    "math_train": {
        "train": (
            ["\\frac{1}{2}", "2", "\\{1,2\\}", "72^\\circ"],
            1,
            {"no box, or an empty one, in the solution": 1},
        )
    },
    "math500": {
        "test": (
            ["\\left( 3, \\frac{\\pi}{2} \\right)", "\\text{Evelyn}", "x \\in [-2,7]", "10,080", "\\$32,\\!348"],
            0,
            {},
        )
    },
    "dapo_math": {"train": (["34", "-12", "1", "12"], 13, {})},
    "open_rs": {"train": (["3", "\\sqrt{2}", "(1,2)"], 0, {"no box, or an empty one, in the solution": 1})},
    "amc23": {"test": (["27", "36", "45.5"], 0, {})},
    "minerva": {"test": (["5.0 \\text{ cm}", "4.5e33", "x=v_{0}t"], 0, {})},
    "olympiadbench": {"test": (["2", "2", "-1,3", "1, 7", "5"], 0, {"no final answer": 1, "needs an image": 1})},
    "aime24": {"test": (["204", "25", "73"], 93, {})},
    "aime25": {"test": (["70", "336"], 1, {})},
    "mmlu_pro": {"test": (["B", "A"], 0, {"the answer's letter and the answer disagree": 1})},
    "supergpqa": {"test": (["B", "B"], 0, {"the answer's letter and the answer disagree": 1})},
    "bbeh": {"test": (["(A)", "apple, banana", "2:30 PM", "12.5"], 0, {})},
}
CASES = [(name, split) for name, splits in EXPECTED.items() for split in splits]

Layout = Callable[[str], Path]


def run(name: str, local: Path, **settings: Any) -> tuple[list[Report], Path]:
    folder = local.parent / "out"
    return prepare(importlib.import_module(f"data_prep.{name}").DATA_SET, folder, local, **settings), folder


def rows_of(name: str, local: Path, **settings: Any) -> list[Row]:
    _, folder = run(name, local, **settings)
    return read_rows(next(iter(folder.iterdir())))


@pytest.mark.parametrize(("name", "split"), CASES)
def test_golds_duplicates_and_refusals(layout: Layout, name: str, split: str) -> None:
    golds, duplicates, refused = EXPECTED[name][split]
    reports, folder = run(name, layout(name))
    report = next(report for report in reports if report.name.endswith(split))
    rows = read_rows(folder / f"{split}.parquet")
    assert [row["reward_model"]["ground_truth"] for row in rows] == golds
    assert (report.seen.duplicates, dict(report.refused)) == (duplicates, refused)
    assert report.read == report.written + duplicates + sum(refused.values())
    assert [row["extra_info"]["index"] for row in rows] == list(range(len(rows)))
    assert {row["extra_info"]["split"] for row in rows} == {split}


@pytest.mark.parametrize(("name", "split"), CASES)
def test_the_file_passes_verify(layout: Layout, name: str, split: str) -> None:
    _, folder = run(name, layout(name))
    findings = verify(folder / f"{split}.parquet")
    assert findings.bad_golds == []
    assert findings.foreign_columns == []


@pytest.mark.parametrize("prompt", sorted(MATH_PROMPTS))
def test_one_option_chooses_the_prompt(layout: Layout, prompt: str) -> None:
    _, folder = run("minerva", layout("minerva"), prompt=prompt)
    row = read_rows(folder / "test.parquet")[0]
    assert row["prompt"] == MATH_PROMPTS[prompt].messages("How far?")
    assert row["extra_info"]["answer_form"] == ("line" if prompt == "dapo" else "box")
    assert verify(folder / "test.parquet").ok


def test_the_papers_words() -> None:
    assert MATH_PROMPTS["rdiverse"].messages("Q?") == solver.messages("Q?")
    system, user = DRA.messages("Q?")
    assert system["content"].endswith("Note that respond by English, NOT use other languages.")
    assert "within \\boxed{{}} . The reasoning process" in system["content"]
    assert user["content"] == "Q?"
    assert EXTRA.messages("Q?")[0]["content"].startswith("Please solve the following math problem: Q?. The assistant")
    assert DAPO.messages("Q?")[0]["content"].endswith(
        'problem.\n\nQ?\n\nRemember to put your answer on its own line after "Answer:".'
    )


def test_dapo_reports_conflicts_and_keeps_both(layout: Layout) -> None:
    (report,), _ = run("dapo_math", layout("dapo_math"))
    assert report.seen.conflicts == [("Find -y.", "-12", "12")]
    assert "  conflict, both kept: '-12' and '12' for 'Find -y.'" in report.lines()


def test_dapo_questions_lose_the_published_words_and_get_extras(layout: Layout) -> None:
    row = rows_of("dapo_math", layout("dapo_math"))[0]
    assert row["prompt"] == EXTRA.messages("Find $x$ if $x=34$.")
    assert (row["data_source"], row["extra_info"]["id"]) == ("math_dapo", "9a9b6eb4")


def test_dapo_in_the_published_words(layout: Layout) -> None:
    row = rows_of("dapo_math", layout("dapo_math"), prompt="dapo")[0]
    assert row["prompt"][0]["content"].startswith("Solve the following math problem step by step. The last line")


def test_the_cleaned_dapo_copy_is_read_too(tmp_path: Path) -> None:
    (tmp_path / "train.jsonl").write_text('{"prompt": "Add 1 and 1.", "target": "2"}\n')
    rows = rows_of("dapo_math", tmp_path / "train.jsonl")
    assert (rows[0]["prompt"], rows[0]["reward_model"]["ground_truth"]) == (EXTRA.messages("Add 1 and 1."), "2")


def test_olympiadbench_says_how_many_answers_are_needed(layout: Layout) -> None:
    rows = rows_of("olympiadbench", layout("olympiadbench"))
    modes = [(row["extra_info"]["answer_mode"], row["extra_info"]["answers"]) for row in rows]
    assert modes == [("all", []), ("any", ["2", "\\frac{4}{2}"]), ("all", []), ("all", []), ("all", [])]
    assert rows[4]["prompt"][-1]["content"] == "Let $n=5$.\nAnd then?"


def test_choices_are_listed_without_padding(layout: Layout) -> None:
    rows = rows_of("mmlu_pro", layout("mmlu_pro"))
    assert rows[0]["prompt"] == [
        {
            "role": "user",
            "content": "Which?\nOptions are:\n(A): one\n(B): two\n(C): three\n\n\nPlease reason step by step, and put "
            "your final answer option within \\boxed{}. Only put the option letter in the box, e.g. \\boxed{A}. There "
            "is only one correct answer.",
        }
    ]
    assert "(C)" not in rows[1]["prompt"][0]["content"]


def test_challenger_prompts_are_one_prompt_judged_by_models(tmp_path: Path) -> None:
    challenger.prepare(tmp_path, rows=5)
    rows = read_rows(tmp_path / "train.parquet")
    assert [row["prompt"] for row in rows] == [challenger_role.messages()] * 5
    assert [row["extra_info"]["index"] for row in rows] == [0, 1, 2, 3, 4]
    assert verify(tmp_path / "train.parquet").ok


def test_limit_and_the_published_count(layout: Layout) -> None:
    local = layout("amc23")
    (limited,), folder = run("amc23", local, limit=2)
    assert len(read_rows(folder / "test.parquet")) == 2
    assert limited.lines() == ["amc23 test: 2 rows read, 2 written"]
    (whole,), _ = run("amc23", local)
    assert whole.lines()[-1] == "  the published data has 40 rows"


def test_files_of_all_scripts_join_in_verls_dataset(layout: Layout, chat_tokenizer: Callable[[str], Path]) -> None:
    from omegaconf import OmegaConf
    from transformers import AutoTokenizer
    from verl.utils.dataset.rl_dataset import RLHFDataset

    files = []
    for name in ("gsm8k", "olympiadbench", "mmlu_pro"):
        _, folder = run(name, layout(name))
        files.append(str((folder / "test.parquet").rename(folder.parent / f"{name}.parquet")))
    tokenizer = AutoTokenizer.from_pretrained(chat_tokenizer("{{ messages[-1]['content'] }}"))
    config = OmegaConf.create(
        {"max_prompt_length": 512, "cache_dir": str(Path(files[0]).parent), "filter_overlong_prompts_workers": None}
    )
    dataset = RLHFDataset(files, tokenizer, config)
    assert len(dataset) == 2 + 5 + 2
    assert dataset[3]["extra_info"]["answers"] == ["2", "\\frac{4}{2}"]


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ('{"id": 0, "problem": "Q", "answer": 1}', r"row 0: no field 'question'; the columns are id, problem, answer"),
        (
            '{"id": 0, "question": "Q", "answer": 1}\n{"id": 1, "question": 5, "answer": 1}',
            "row 1: field 'question' is 5",
        ),
        ('{"id": 0, "question": "Q", "answer": ["1"]}', r"row 0: the answer is \['1'\], not a text or a number"),
        ('{"id": 0, "question": "Q", "answer": true}', "row 0: the answer is True, not a text or a number"),
        ('{"id": 0, "question": "Q", "answer": 1}\n{"id"', "row 1: not JSON"),
        ("[1]", "row 0: is list, not an object"),
        ('{"id": 0, "question": "Q", "answer": null}', "nothing to write; .*1 refused: no answer"),
    ],
)
def test_a_schema_error_names_file_and_row(tmp_path: Path, lines: str, message: str) -> None:
    (tmp_path / "test.jsonl").write_text(lines)
    with pytest.raises(DataError, match=message) as caught:
        run("amc23", tmp_path / "test.jsonl")
    assert "amc23" in str(caught.value) or "test.jsonl" in str(caught.value)
    assert not (tmp_path / "out" / "test.parquet").exists()


@pytest.mark.parametrize("answer", ["1000", "-1", "x", 2.5])
def test_an_impossible_aime_answer_is_an_error(tmp_path: Path, answer: Any) -> None:
    import json

    (tmp_path / "train.jsonl").write_text(json.dumps({"problem": "Q", "answer": answer}))
    with pytest.raises(DataError, match=r"row 0: the answer is .* not a whole number from 0 to 999"):
        run("aime24", tmp_path / "train.jsonl")


def command(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", *arguments], capture_output=True, text=True, timeout=120)


def test_the_command_line(layout: Layout, tmp_path: Path) -> None:
    local = layout("open_rs")
    done = command("data_prep.open_rs", "--local_save_dir", str(tmp_path / "out"), "--source", str(local))
    assert done.returncode == 0, done.stderr
    assert "knoveleng/open-rs train: 4 rows read, 3 written\n  1 refused: no box" in done.stdout
    assert read_rows(tmp_path / "out" / "train.parquet")[0]["prompt"] == DRA.messages("Add 1 and 2.")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--source", "/nowhere"], "data_prep.*--source /nowhere: no such file or folder"),
        ([], "knoveleng/open-rs: cannot be loaded from the hub .*--source PATH"),
        (["--limit", "0"], "0 is not above 0"),
        (["--prompt", "mine"], "invalid choice: 'mine'"),
    ],
)
def test_the_command_line_ends_with_one_clear_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], message: str
) -> None:
    import re

    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    done = command("data_prep.open_rs", "--local_save_dir", str(tmp_path / "out"), *arguments)
    assert done.returncode == 2
    assert re.search(message.replace("data_prep", "open_rs"), done.stderr)
    assert "Traceback" not in done.stderr
