"""`data verify`: schema, chat template, lengths and golds of files right and wrong."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from rich.console import Console

from data_prep.verify import print_findings, verify
from rdiverse_verl.dataset import make_row, write_rows
from rdiverse_verl.errors import ConfigError, DataError

TEMPLATE = "{% for m in messages %}{{ m['content'] }} {% endfor %}{% if add_generation_prompt %}go{% endif %}"


def file(tmp_path: Path, *rows: dict[str, Any]) -> Path:
    path = tmp_path / "rows.parquet"
    base: dict[str, Any] = {"data_source": "math", "ground_truth": "4", "split": "train"}
    made = []
    for index, row in enumerate(rows):
        prompt = [{"role": "user", "content": f"question {index}"}]
        made.append(make_row(**(base | {"prompt": prompt, "index": index} | row)))
    write_rows(path, made)
    return path


def printed(path: Path, **settings: Any) -> str:
    console = Console(record=True, width=200)
    print_findings(verify(path, **settings), console)
    return console.export_text()


def test_golds_that_no_response_could_give(tmp_path: Path) -> None:
    path = file(
        tmp_path,
        {"ground_truth": "4"},
        {"ground_truth": "{5"},
        {"ground_truth": ""},
        {"ground_truth": "1\n2", "answer_form": "line"},
        {"ground_truth": "2", "answers": ["2", "}"]},
        {"ground_truth": "", "style": "model"},
    )
    findings = verify(path)
    assert [(row, gold) for row, gold, _ in findings.bad_golds] == [(1, "{5"), (2, ""), (3, "1\n2"), (4, "}")]
    assert not findings.ok
    assert "  row 1: gold '{5' is " in printed(path)
    assert printed(path).endswith("4 golds cannot be matched\n")


def test_copies_and_sources_are_counted(tmp_path: Path) -> None:
    prompt = [{"role": "user", "content": "Find $x$."}]
    path = file(tmp_path, {"prompt": prompt}, {"prompt": prompt}, {"data_source": "aime24"})
    assert f"{path}: 3 rows, 2 distinct questions\n  data_source aime24: 1\n  data_source math: 2\n  ok" in printed(
        path
    )


def test_prompt_lengths_as_verl_counts_them(tmp_path: Path, chat_tokenizer: Callable[[str], Path]) -> None:
    """The template adds one word; a prompt at the limit is kept."""
    rows = [{"prompt": [{"role": "user", "content": "w " * (words - 1)}]} for words in (10, 512, 513, 5000)]
    findings = verify(file(tmp_path, *rows), chat_tokenizer(TEMPLATE), 512)
    assert (findings.longest, findings.too_long, findings.opens_think, findings.ok) == (5000, [2, 3], False, True)


def test_a_template_that_opens_think_is_told(tmp_path: Path, chat_tokenizer: Callable[[str], Path]) -> None:
    tokenizer = chat_tokenizer(TEMPLATE.replace("go", "<think>\n"))
    assert "the chat template opens <think>" in printed(file(tmp_path, {}), tokenizer=tokenizer)


def test_a_failing_template_is_an_error_with_its_row(tmp_path: Path, chat_tokenizer: Callable[[str], Path]) -> None:
    template = "{% if messages[0]['role'] == 'system' %}{{ raise_exception('no system') }}{% endif %}x"
    system = [{"role": "system", "content": "s"}, {"role": "user", "content": "q"}]
    path = file(tmp_path, {}, {"prompt": system})
    with pytest.raises(DataError, match=r"row 1: the chat template fails \(TemplateError: no system\)"):
        verify(path, chat_tokenizer(template))


def test_wrong_tokenizers_are_named(tmp_path: Path, chat_tokenizer: Callable[[str], Path]) -> None:
    path = file(tmp_path, {})
    with pytest.raises(ConfigError, match="has no chat template"):
        verify(path, chat_tokenizer(""))
    with pytest.raises(ConfigError, match="no tokenizer there"):
        verify(path, tmp_path)
    with pytest.raises(ConfigError, match="--max-prompt-tokens needs --tokenizer"):
        verify(path, max_prompt_tokens=5)


def foreign(tmp_path: Path, **changes: Any) -> Path:
    row = {
        "data_source": "math_dapo",
        "prompt": [{"role": "user", "content": "1+1?"}],
        "ability": "math",
        "reward_model": {"style": "rule", "ground_truth": "2"},
        "extra_info": {"index": 0},
    }
    pq.write_table(pa.Table.from_pylist([row, row | changes]), tmp_path / "foreign.parquet")
    return tmp_path / "foreign.parquet"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({}, "row 1: extra_info.index 0 was used by row 0 already"),
        ({"extra_info": None}, "row 1: extra_info.index is not a whole number"),
        ({"prompt": []}, "row 1: prompt is not a non-empty list"),
        ({"reward_model": {"style": "rule", "ground_truth": None}}, "row 1: reward_model.ground_truth is None"),
    ],
)
def test_a_foreign_file_with_a_wrong_row(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=message):
        verify(foreign(tmp_path, **changes))


def test_a_foreign_file_that_cannot_be_joined_says_which_column(tmp_path: Path) -> None:
    findings = verify(foreign(tmp_path, extra_info={"index": 1}))
    assert findings.foreign_columns == ["extra_info"]
    assert findings.ok
