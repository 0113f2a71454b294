"""Records of a data set, from the hub at a pinned revision or from a local copy laid out as the hub lays it out."""

import csv
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from data_prep.problem import Record
from rdiverse_verl.errors import DataError

_SUFFIXES = (".parquet", ".jsonl", ".json", ".csv")


@dataclass(frozen=True)
class Source:
    """Where one split is on the hub. ``revision`` is a full commit, or empty where none could be verified."""

    hub: str
    split: str
    configs: tuple[str, ...] = ()
    revision: str = ""


@dataclass(frozen=True)
class Located:
    """A record, and where it stands: a file or hub name, and its row there from 0."""

    record: Record
    origin: str
    row: int


def read_records(source: Source, local: Path | None) -> Iterator[Located]:
    """All records of a split, in order. Raises DataError when they cannot be had, naming file and row."""
    return _from_hub(source) if local is None else _from_disk(source, local)


def _from_hub(source: Source) -> Iterator[Located]:
    try:
        from datasets import load_dataset

        for config in source.configs or (None,):
            rows = load_dataset(source.hub, config, split=source.split, revision=source.revision or None)
            for row, record in enumerate(rows):
                yield Located(record, "/".join(filter(None, (source.hub, config, source.split))), row)
    except (ImportError, OSError, ValueError) as error:
        if isinstance(error, DataError):
            raise
        raise DataError(
            f"{source.hub}: cannot be loaded from the hub ({error}); give a local copy with --source PATH"
        ) from error


def _from_disk(source: Source, local: Path) -> Iterator[Located]:
    if not local.exists():
        raise DataError(f"--source {local}: no such file or folder")
    files = [local] if local.is_file() else _find(source, local)
    for file in files:
        for row, record in enumerate(_records(file)):
            if not isinstance(record, dict):
                raise DataError(f"{file}: row {row}: is {type(record).__name__}, not an object with named fields")
            yield Located(record, str(file), row)


def _find(source: Source, folder: Path) -> list[Path]:
    """Files of the split in the folders of the wanted configs; the only file there is, whatever its name."""
    there = [folder / config for config in source.configs if (folder / config).is_dir()] or [folder]
    files = [file for root in there for file in sorted(root.rglob("*")) if file.suffix in _SUFFIXES]
    named = re.compile(rf"{re.escape(source.split)}(?![a-zA-Z0-9])")
    chosen = [file for file in files if named.match(file.name) or source.split in file.relative_to(folder).parent.parts]
    if not chosen and len(files) == 1:
        return files
    if not chosen:
        names = ", ".join(str(file.relative_to(folder)) for file in files[:8]) or "no data files"
        raise DataError(f"--source {folder}: no file of the split {source.split!r}; there are {names}")
    return chosen


def _records(file: Path) -> Iterator[Record]:
    if file.suffix not in _SUFFIXES:
        raise DataError(f"{file}: unknown format; give one of {', '.join(_SUFFIXES)}")
    try:
        if file.suffix == ".parquet":
            for batch in pq.ParquetFile(file).iter_batches():
                yield from batch.to_pylist()
        elif file.suffix == ".jsonl":
            yield from _json_lines(file)
        elif file.suffix == ".json":
            yield from _json_list(file)
        else:
            with file.open(encoding="utf-8", newline="") as lines:
                yield from csv.DictReader(lines)
    except (pa.ArrowException, OSError, UnicodeDecodeError, csv.Error) as error:
        raise DataError(f"{file}: cannot be read ({error})") from error


def _json_lines(file: Path) -> Iterator[Record]:
    with file.open(encoding="utf-8") as lines:
        for row, line in enumerate(lines):
            if line.strip():
                try:
                    yield json.loads(line)
                except json.JSONDecodeError as error:
                    raise DataError(f"{file}: row {row}: not JSON ({error})") from error


def _json_list(file: Path) -> Iterator[Record]:
    """A list of records, or an object whose only list holds them. Some hubs name a file of JSON lines ``.json``."""
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except json.JSONDecodeError:
        yield from _json_lines(file)
        return
    lists = [content] if isinstance(content, list) else [v for v in content.values() if isinstance(v, list)]
    if len(lists) != 1:
        raise DataError(f"{file}: holds {len(lists)} lists of records, not one")
    yield from lists[0]
