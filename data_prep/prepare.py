"""From records to parquet: what every script shares."""

import argparse
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console
from rich.progress import track

from data_prep.duplicates import Seen
from data_prep.loading import Located, Source, read_records
from data_prep.problem import Problem, Record, Refused
from data_prep.prompts import Prompt
from rdiverse_verl.dataset import Row, make_row, write_rows
from rdiverse_verl.errors import DataError, RdiverseError


@dataclass(frozen=True)
class Split:
    """One file to write. ``published`` is the row count its authors state.

    ``unique`` drops repeated questions: right for training, and for benchmarks that copies store many times. Other
    benchmarks keep what they repeat, so that scores have the published denominator.
    """

    source: Source
    published: int
    unique: bool


@dataclass(frozen=True)
class DataSet:
    """What makes a script: its name in ``data_source``, its files, how a record is read, how it is asked."""

    data_source: str
    splits: Mapping[str, Split]
    read: Callable[[Record], Problem]
    prompts: Mapping[str, Prompt]
    default_prompt: str
    ability: str = "math"


@dataclass
class Report:
    """What became of the records of one split."""

    name: str
    published: int
    limited: bool
    read: int = 0
    written: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    seen: Seen = field(default_factory=Seen)

    def lines(self) -> list[str]:
        """For people."""
        lines = [f"{self.name}: {self.read} rows read, {self.written} written"]
        if self.seen.duplicates:
            lines.append(f"  {self.seen.duplicates} duplicates removed")
        lines += [f"  {count} refused: {reason}" for reason, count in self.refused.most_common()]
        for question, first, other in self.seen.conflicts[:3]:
            lines.append(f"  conflict, both kept: {first!r} and {other!r} for {question[:80]!r}")
        if len(self.seen.conflicts) > 3:
            lines.append(f"  and {len(self.seen.conflicts) - 3} more conflicts")
        if not self.limited and self.written != self.published:
            lines.append(f"  the published data has {self.published} rows")
        return lines


def prepare(
    data_set: DataSet, folder: Path, local: Path | None = None, limit: int | None = None, prompt: str | None = None
) -> list[Report]:
    """Write ``<split>.parquet`` for every split. Raises DataError that names file and row."""
    folder.mkdir(parents=True, exist_ok=True)
    chosen = data_set.prompts[prompt or data_set.default_prompt]
    reports = []
    for name, split in data_set.splits.items():
        report = Report(f"{data_set.data_source} {name}", split.published, limited=limit is not None)
        records = track(read_records(split.source, local), description=report.name, console=Console(stderr=True))
        rows = _rows(data_set, name, split, chosen, records, report, limit)
        if not rows:
            raise DataError(f"{report.name}: nothing to write; " + "; ".join(line.strip() for line in report.lines()))
        write_rows(folder / f"{name}.parquet", rows)
        reports.append(report)
    return reports


def _rows(
    data_set: DataSet,
    name: str,
    split: Split,
    prompt: Prompt,
    records: Iterable[Located],
    report: Report,
    limit: int | None,
) -> list[Row]:
    rows: list[Row] = []
    for located in records:
        if limit is not None and len(rows) >= limit:
            break
        report.read += 1
        problem = _read(data_set, located, report)
        if problem is None or (split.unique and not report.seen.add(problem)):
            continue
        rows.append(
            make_row(
                data_source=data_set.data_source,
                prompt=prompt.messages(problem.question),
                ground_truth=problem.gold,
                index=len(rows),
                split=name,
                id=problem.id,
                ability=data_set.ability,
                answer_form=prompt.answer_form,
                answers=problem.answers,
            )
        )
    report.written = len(rows)
    return rows


def _read(data_set: DataSet, located: Located, report: Report) -> Problem | None:
    try:
        return data_set.read(located.record)
    except Refused as refused:
        report.refused[refused.reason] += 1
        return None
    except DataError as error:
        raise DataError(f"{located.origin}: row {located.row}: {error}") from error


def main(data_set: DataSet, description: str | None, arguments: Sequence[str] | None = None) -> None:
    """The command line of a script; errors raised on purpose are one line and exit code 2."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--local_save_dir", type=Path, required=True, help="folder for the parquet files")
    parser.add_argument("--source", type=Path, help="local copy: a file, or a folder laid out as on the hub")
    parser.add_argument("--limit", type=positive, help="write at most so many rows a file")
    if len(data_set.prompts) > 1:
        parser.add_argument("--prompt", choices=data_set.prompts, default=data_set.default_prompt, help="whose prompt")
    options = parser.parse_args(arguments)
    try:
        reports = prepare(
            data_set, options.local_save_dir, options.source, options.limit, getattr(options, "prompt", None)
        )
    except RdiverseError as error:
        parser.exit(2, f"{parser.prog}: {error}\n")
    for report in reports:
        print(*report.lines(), sep="\n")


def positive(value: str) -> int:
    """A whole number above 0, for argparse."""
    number = int(value)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{value} is not above 0")
    return number
