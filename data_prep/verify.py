"""Check a parquet file before a run depends on it: schema, chat template, prompt lengths, golds."""

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from rich.console import Console

from data_prep.duplicates import normal_question
from data_prep.prompts import question_of
from rdiverse_verl.dataset import SCHEMA, Row, read_rows
from rdiverse_verl.errors import ConfigError, DataError
from rdiverse_verl.grading import grade
from rdiverse_verl.grading.extraction import Form

_SHOWN = 5


@dataclass
class Findings:
    """What is in a file. Rows count from 0; lengths are in tokens, None without a tokenizer."""

    path: Path
    rows: int
    data_sources: Counter[str]
    questions: int  # distinct but for white space, case and delimiters
    foreign_columns: list[str]  # columns whose type differs from this project's, so that verl cannot join the files
    bad_golds: list[tuple[int, str, str]] = field(default_factory=list)  # row, gold, verdict on the gold itself
    longest: int | None = None
    too_long: list[int] = field(default_factory=list)
    opens_think: bool | None = None  # the template ends the prompt with <think>

    @property
    def ok(self) -> bool:
        """Every gold is right under the grader. Long prompts are counted only: verl filters them."""
        return not self.bad_golds


def verify(path: Path, tokenizer: Path | None = None, max_prompt_tokens: int | None = None) -> Findings:
    """Check one file.

    Raises:
        DataError: it breaks the schema, or the chat template fails on a row; names the row.
        ConfigError: no tokenizer at that place, a tokenizer without chat template, or a limit without tokenizer.
    """
    if max_prompt_tokens is not None and tokenizer is None:
        raise ConfigError("--max-prompt-tokens needs --tokenizer DIR to count tokens with")
    rows = read_rows(path)
    schema = pq.read_schema(path)
    findings = Findings(
        path=path,
        rows=len(rows),
        data_sources=Counter(row["data_source"] for row in rows),
        questions=len({normal_question(question_of(row["prompt"])) for row in rows}),
        foreign_columns=[name for name in SCHEMA.names if schema.field(name).type != SCHEMA.field(name).type],
    )
    for number, row in enumerate(rows):
        findings.bad_golds += [(number, gold, kind) for gold, kind in _bad_golds(row)]
    if tokenizer is not None:
        _measure(findings, rows, _load(tokenizer), max_prompt_tokens)
    return findings


def _bad_golds(row: Row) -> list[tuple[str, str]]:
    """(gold, verdict) for golds that no response, asked as the row asks, could give. Rows models judge have none."""
    if row["reward_model"].get("style") == "model":
        return []
    extra = row["extra_info"]
    form: Form = extra.get("answer_form") or "box"
    golds = extra["answers"] if extra.get("answer_mode") == "any" else [row["reward_model"]["ground_truth"]]
    responses = [(gold, f"Answer: {gold}" if form == "line" else f"\\boxed{{{gold}}}") for gold in golds]
    verdicts = [(gold, grade(response, gold, form).kind) for gold, response in responses]
    return [(gold, kind) for gold, kind in verdicts if kind != "correct"]


def _load(folder: Path) -> Any:
    from transformers import AutoTokenizer

    try:
        tokenizer = AutoTokenizer.from_pretrained(folder)
    except (OSError, ValueError) as error:
        raise ConfigError(f"--tokenizer {folder}: no tokenizer there ({error})") from error
    if not tokenizer.chat_template:
        raise ConfigError(f"--tokenizer {folder}: has no chat template, which verl needs; use an instruct model's")
    return tokenizer


def _measure(findings: Findings, rows: list[Row], tokenizer: Any, limit: int | None) -> None:
    """As verl measures: template applied with the generation prompt, tokens counted. verl itself hides errors here."""
    lengths = []
    for number, row in enumerate(rows):
        try:
            tokens = tokenizer.apply_chat_template(
                row["prompt"], add_generation_prompt=True, tokenize=True, return_dict=False
            )
        except Exception as error:
            raise DataError(
                f"{findings.path}: row {number}: the chat template fails ({type(error).__name__}: {error}); "
                "verl would drop such rows as too long"
            ) from error
        lengths.append(len(tokens))
    findings.longest = max(lengths)
    findings.too_long = [number for number, length in enumerate(lengths) if limit is not None and length > limit]
    text = tokenizer.apply_chat_template(rows[0]["prompt"], add_generation_prompt=True, tokenize=False)
    findings.opens_think = text.rstrip().endswith("<think>")


def print_findings(findings: Findings, console: Console) -> None:
    """For people; nothing is cut without saying so."""
    lines = [f"{findings.path}: {findings.rows} rows, {findings.questions} distinct questions"]
    lines += [f"  data_source {name}: {count}" for name, count in sorted(findings.data_sources.items())]
    lines += [
        f"  column {name}: type differs from this project's, cannot be joined" for name in findings.foreign_columns
    ]
    if findings.longest is not None:
        lines.append(f"  longest prompt: {findings.longest} tokens; too long: {len(findings.too_long)}")
        lines.append(f"  the chat template {'opens' if findings.opens_think else 'does not open'} <think>")
    lines += [f"  row {row}: gold {gold!r} is {kind} against itself" for row, gold, kind in findings.bad_golds[:_SHOWN]]
    if len(findings.bad_golds) > _SHOWN:
        lines.append(f"  and {len(findings.bad_golds) - _SHOWN} more such golds")
    lines.append("  ok" if findings.ok else f"  {len(findings.bad_golds)} golds cannot be matched")
    for line in lines:
        console.print(line, markup=False, highlight=False, soft_wrap=True)
