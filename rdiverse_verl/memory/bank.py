"""The persistent memory of all questions that trained the Solver (R-Diverse, Sec. 3.1.1)."""

import hashlib
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from rdiverse_verl.errors import DataError, StateError
from rdiverse_verl.memory import store
from rdiverse_verl.memory.frozen import FrozenMemory
from rdiverse_verl.memory.rows import MemoryRow, check_row


class MemoryBank:
    """One SQLite file, made when absent, with one writer; readers take a `FrozenMemory`.

    Args:
        path: the file. It must lie on a file system of this host: SQLite's write-ahead log needs shared memory.
        encoder_id: id of the skill space (`SkillSpace.id`: encoder, canonical rule and centre). A file written with
            another one is refused with StateError.
        dim: width of the vectors.
    """

    def __init__(self, path: str | Path, encoder_id: str, dim: int) -> None:
        self.path, self.encoder_id, self.dim = Path(path), encoder_id, dim
        if not self.path.exists():
            store.create(self.path, encoder_id, dim)
        self._connection = store.connect(self.path, encoder_id, dim, read_only=False)

    def append(self, iteration: int, rows: Sequence[MemoryRow]) -> int:
        """Remember the rows of one iteration, all or none, and return how many were new (Eq. 6).

        A question and answer enter once per iteration, so appending the same rows again changes nothing; the first of
        several equal ones stays. Raises StateError if the iteration holds such a row with another p_hat, code or
        vector: then the run was not repeated but changed, and `truncate_from` has to come first.
        """
        first_by_content: dict[str, MemoryRow] = {}
        for position, row in enumerate(rows):
            where = f"row {position} of iteration {iteration}"
            check_row(row, self.dim, where)
            if row.iteration != iteration:
                raise DataError(f"{where} says it belongs to iteration {row.iteration}")
            first_by_content.setdefault(row.content_hash, row)
        with self._transaction():
            known = self._row_hashes(iteration)
            new = [row for content, row in first_by_content.items() if self._is_new(row, known.get(content))]
            self._connection.executemany(
                "INSERT INTO rows (iteration, content_hash, row_hash, question, answer, p_hat, code, vector) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    (iteration, row.content_hash, row.row_hash, row.question, row.answer, row.p_hat, row.code, row.blob)
                    for row in new
                ),
            )
        return len(new)

    def truncate_from(self, iteration: int) -> int:
        """Forget this iteration and all later ones; returns how many rows went. For resuming at an earlier point."""
        with self._transaction():
            return self._connection.execute("DELETE FROM rows WHERE iteration >= ?", (iteration,)).rowcount

    def frozen(self, before_iteration: int) -> FrozenMemory:
        """The memory that penalises `before_iteration`: the union of all iterations before it."""
        return FrozenMemory.open(self.path, self.encoder_id, self.dim, before_iteration)

    def rows(self) -> list[MemoryRow]:
        """Every row, in the order of iteration and entry."""
        return store.read_rows(self._connection, self.path)

    def __len__(self) -> int:
        with store.damage_named(self.path):
            return self._connection.execute("SELECT count(*) FROM rows").fetchone()[0]

    def digest(self, before_iteration: int | None = None) -> str:
        """SHA-256 over the rows (all, or those before an iteration) in order: equal digests mean equal memories."""
        digest = hashlib.sha256()
        for row in store.read_rows(self._connection, self.path, before_iteration):
            digest.update(bytes.fromhex(row.row_hash))
        return digest.hexdigest()

    def verify(self) -> None:
        """Check the file's structure and every row against its stored hashes; StateError names the first bad row."""
        with store.damage_named(self.path):
            problem = self._connection.execute("PRAGMA integrity_check(1)").fetchone()[0]
            if problem != "ok":
                raise sqlite3.DatabaseError(problem)
            stored = list(self._connection.execute("SELECT content_hash, row_hash FROM rows ORDER BY iteration, id"))
        for position, (row, hashes) in enumerate(zip(self.rows(), stored, strict=True)):
            if (row.content_hash, row.row_hash) != hashes:
                raise StateError(
                    f"memory {self.path}: row {position} (iteration {row.iteration}) does not match its hash; "
                    f"restore a copy, or drop it and what follows with truncate_from({row.iteration})"
                )

    def close(self) -> None:
        """Close the file; its log is merged into it."""
        self._connection.close()

    def __enter__(self) -> "MemoryBank":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _row_hashes(self, iteration: int) -> dict[str, str]:
        cursor = self._connection.execute("SELECT content_hash, row_hash FROM rows WHERE iteration = ?", (iteration,))
        return dict(cursor.fetchall())

    def _is_new(self, row: MemoryRow, known_hash: str | None) -> bool:
        if known_hash not in (None, row.row_hash):
            raise StateError(
                f"memory {self.path} already holds {row.question[:60]!r} of iteration {row.iteration} with another "
                f"p_hat, code or vector; call truncate_from({row.iteration}) before appending a changed iteration"
            )
        return known_hash is None

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        with store.damage_named(self.path):
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield
            except BaseException:
                self._connection.execute("ROLLBACK")
                raise
            self._connection.execute("COMMIT")
