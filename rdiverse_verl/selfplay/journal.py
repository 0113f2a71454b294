"""A run directory as a journal of phases: a phase is done iff its manifest, written last, is there and true.

Layout: ``run/config.yaml``, ``run/lock``, ``run/iter_03/20_generate/{outputs..., manifest.json}``.
"""

import fcntl
import hashlib
import json
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from rdiverse_verl.errors import StateError

MANIFEST = "manifest.json"
LOCK = "lock"


def write_atomic(path: Path, text: str) -> None:
    """Write a file so that a crash leaves the old content or the new, never a part of either."""
    partial = path.with_name(path.name + ".partial")
    with partial.open("w", encoding="utf-8") as handle:
        handle.write(text)
        handle.flush()
        os.fsync(handle.fileno())
    os.replace(partial, path)
    _sync(path.parent)


def sha256_file(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as handle:
        while block := handle.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


@dataclass(frozen=True)
class PhaseFolder:
    """One phase's folder: its outputs, and the manifest that makes them count."""

    path: Path

    @property
    def done(self) -> bool:
        return (self.path / MANIFEST).is_file()

    def manifest(self) -> dict[str, Any]:
        """Raises StateError when the manifest cannot be read."""
        file = self.path / MANIFEST
        try:
            manifest = json.loads(file.read_text(encoding="utf-8"))
            if not isinstance(manifest, dict) or not isinstance(manifest.get("outputs"), dict):
                raise ValueError("it lists no outputs")
            return manifest
        except (OSError, ValueError) as error:
            raise StateError(
                f"{file}: unreadable manifest ({error}); remove {self.path} to run this phase again"
            ) from error

    def start(self, keep_partial: bool) -> None:
        """Make the folder ready for a run; what an interrupted run left is removed unless the phase can build on it."""
        if self.path.exists() and not keep_partial:
            shutil.rmtree(self.path)
        self.path.mkdir(parents=True, exist_ok=True)

    def finish(self, outputs: list[str], facts: dict[str, Any]) -> None:
        """Make ``outputs`` (files or folders, relative) durable, then write the manifest."""
        files = {name: sha256_file(self.path / name) for name in self._files(outputs)}
        for name in files:
            _sync(self.path / name)
        _sync(self.path)
        write_atomic(self.path / MANIFEST, json.dumps({**facts, "outputs": files}, indent=2, sort_keys=True) + "\n")

    def check(self) -> None:
        """Raises StateError when an output is missing or is not what the manifest says."""
        for name, expected in self.manifest()["outputs"].items():
            file = self.path / name
            if not file.is_file():
                raise StateError(
                    f"{file} is gone, though {MANIFEST} lists it; remove {self.path} to run this phase again"
                )
            if sha256_file(file) != expected:
                raise StateError(f"{file} has changed since it was written; remove {self.path} to run this phase again")

    def digest(self) -> str:
        """One hash over all outputs' names and contents."""
        return hashlib.sha256(json.dumps(self.manifest()["outputs"], sort_keys=True).encode()).hexdigest()

    def _files(self, outputs: list[str]) -> Iterator[str]:
        for name in outputs:
            path = self.path / name
            if path.is_dir():
                yield from sorted(str(file.relative_to(self.path)) for file in path.rglob("*") if file.is_file())
            else:
                yield name


@contextmanager
def locked(run_dir: Path) -> Iterator[None]:
    """Hold the run directory for one driver; the lock ends with the process, however it ends."""
    run_dir.mkdir(parents=True, exist_ok=True)
    with (run_dir / LOCK).open("a+") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise StateError(f"{run_dir} is in use ({_written_in(handle)}); wait for that driver, or end it") from error
        handle.truncate(0)
        handle.write(f"driver with pid {os.getpid()}, since {time.strftime('%Y-%m-%d %H:%M:%S')}")
        handle.flush()
        yield


def holder(run_dir: Path) -> str | None:
    """Who drives a run directory now, or None."""
    if not (run_dir / LOCK).is_file():
        return None
    with (run_dir / LOCK).open("r") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return _written_in(handle)
    return None


def _written_in(handle: TextIO) -> str:
    handle.seek(0)
    return handle.read().strip()


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
