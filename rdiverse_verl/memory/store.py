"""The memory's file: one SQLite database, its schema and its identity."""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from rdiverse_verl.errors import StateError
from rdiverse_verl.memory.rows import MemoryRow

FORMAT = "1"
_BUSY_SECONDS = 60.0
_NO_LIMIT = 2**62
_SCHEMA = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
CREATE TABLE rows (
    id INTEGER PRIMARY KEY,
    iteration INTEGER NOT NULL,
    content_hash TEXT NOT NULL,
    row_hash TEXT NOT NULL,
    question TEXT NOT NULL,
    answer TEXT NOT NULL,
    p_hat REAL NOT NULL,
    code TEXT NOT NULL,
    vector BLOB NOT NULL,
    UNIQUE (iteration, content_hash)
) STRICT;
"""


def create(path: Path, encoder_id: str, dim: int) -> None:
    """Make an empty memory under another name and rename it, so that `path` is either absent or complete."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{os.getpid()}.new")
    draft.unlink(missing_ok=True)
    connection = sqlite3.connect(draft)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.executescript(_SCHEMA)
    identity = {"format": FORMAT, "encoder": encoder_id, "dim": str(dim)}
    with connection:
        connection.executemany("INSERT INTO meta VALUES (?, ?)", identity.items())
    connection.close()
    os.replace(draft, path)


def connect(path: Path, encoder_id: str, dim: int, *, read_only: bool) -> sqlite3.Connection:
    """Open an existing memory, refusing one that is damaged or was written with another encoder.

    A writer commits to disk (synchronous=FULL) before it returns. A reader writes no page of the database or its
    log; several may be open beside one writer.
    """
    if not path.is_file():
        raise StateError(f"memory {path} does not exist; run the iteration that fills it, or check the path")
    with damage_named(path):
        uri = f"{path.absolute().as_uri()}?mode={'ro' if read_only else 'rw'}"
        connection = sqlite3.connect(uri, uri=True, timeout=_BUSY_SECONDS, isolation_level=None)
        try:
            connection.execute("PRAGMA synchronous = FULL")
            _check_intact(connection, path)
            _check_identity(connection, path, encoder_id, dim)
        except BaseException:
            connection.close()
            raise
    return connection


def read_rows(connection: sqlite3.Connection, path: Path, before_iteration: int | None = None) -> list[MemoryRow]:
    """All rows, or those of the iterations before one, in the order of iteration and entry."""
    limit = before_iteration if before_iteration is not None else _NO_LIMIT
    with damage_named(path):
        cursor = connection.execute(
            "SELECT question, answer, p_hat, iteration, code, vector FROM rows WHERE iteration < ? "
            "ORDER BY iteration, id",
            (limit,),
        )
        return [
            MemoryRow(question, answer, p_hat, iteration, code, np.frombuffer(blob, dtype="<f4"))
            for question, answer, p_hat, iteration, code, blob in cursor
        ]


@contextmanager
def damage_named(path: Path) -> Iterator[None]:
    """Turn SQLite's terse errors into one that names the file and the way out."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        raise _damaged(path, str(error)) from error


def _check_intact(connection: sqlite3.Connection, path: Path) -> None:
    problem = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
    if problem != "ok":
        raise _damaged(path, problem)


def _check_identity(connection: sqlite3.Connection, path: Path, encoder_id: str, dim: int) -> None:
    stored = dict(connection.execute("SELECT key, value FROM meta"))
    expected = {"format": FORMAT, "encoder": encoder_id, "dim": str(dim)}
    for key, value in expected.items():
        if stored.get(key) != value:
            raise StateError(
                f"memory {path} was written with {key} {stored.get(key)!r}, this run uses {value!r}: their vectors "
                "cannot be compared. Use the encoder and centre of the memory, or start a new run directory"
            )


def _damaged(path: Path, problem: str) -> StateError:
    return StateError(
        f"memory {path} cannot be read ({problem}). If it is damaged, move it and its -wal and -shm files aside, then "
        "restore a copy or run the iterations again in a new run directory"
    )
