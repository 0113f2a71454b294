"""The journal: a manifest makes a phase count, and anything that does not match it is refused."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from rdiverse_verl.errors import StateError
from rdiverse_verl.selfplay.journal import PhaseFolder, holder, locked, write_atomic


@pytest.fixture
def done(tmp_path: Path) -> PhaseFolder:
    folder = PhaseFolder(tmp_path / "iter_01" / "20_generate")
    folder.start(keep_partial=False)
    (folder.path / "rows.jsonl").write_text("one\ntwo\n")
    (folder.path / "model").mkdir()
    (folder.path / "model" / "weights").write_bytes(b"\0" * 1000)
    folder.finish(["rows.jsonl", "model"], {"facts": {"rows": 2}})
    return folder


def test_manifest_lists_every_file_of_every_output(done: PhaseFolder) -> None:
    manifest = done.manifest()
    assert done.done
    assert set(manifest["outputs"]) == {"rows.jsonl", "model/weights"}
    assert manifest["facts"] == {"rows": 2}
    done.check()


def test_without_manifest_a_phase_is_not_done_and_leftovers_go(done: PhaseFolder) -> None:
    (done.path / "manifest.json").unlink()
    assert not done.done
    done.start(keep_partial=True)
    assert (done.path / "rows.jsonl").is_file()
    done.start(keep_partial=False)
    assert list(done.path.iterdir()) == []


@pytest.mark.parametrize("damage", ["truncate", "flip", "remove"])
def test_damaged_output_is_refused_by_name(done: PhaseFolder, damage: str) -> None:
    weights = done.path / "model" / "weights"
    if damage == "truncate":
        os.truncate(weights, 10)
    elif damage == "flip":
        weights.write_bytes(b"\0" * 999 + b"\1")
    else:
        weights.unlink()
    with pytest.raises(StateError, match=r"model/weights.*remove .*20_generate"):
        done.check()


def test_truncated_manifest_is_refused_by_name(done: PhaseFolder) -> None:
    manifest = done.path / "manifest.json"
    os.truncate(manifest, 20)
    with pytest.raises(StateError, match=r"manifest\.json: unreadable"):
        done.manifest()


def test_digest_covers_contents_and_not_timings(done: PhaseFolder) -> None:
    before = done.digest()
    manifest = done.manifest()
    write_atomic(done.path / "manifest.json", json.dumps({**manifest, "seconds": 99}))
    assert done.digest() == before
    (done.path / "rows.jsonl").write_text("other\n")
    done.finish(["rows.jsonl", "model"], {})
    assert done.digest() != before


def test_a_killed_write_leaves_the_old_content(tmp_path: Path) -> None:
    target = tmp_path / "state.json"
    write_atomic(target, "old")
    code = (
        "import os, sys; from pathlib import Path; from rdiverse_verl.selfplay import journal\n"
        "os.replace = lambda *a: os.kill(os.getpid(), 9)\n"
        f"journal.write_atomic(Path({str(target)!r}), 'new' * 1000)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == -signal.SIGKILL
    assert target.read_text() == "old"


def test_one_driver_per_run_directory_and_a_killed_one_frees_it(tmp_path: Path) -> None:
    code = (
        "import time; from pathlib import Path; from rdiverse_verl.selfplay.journal import locked\n"
        f"with locked(Path({str(tmp_path)!r})):\n    print('held', flush=True); time.sleep(60)"
    )
    other = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    try:
        assert other.stdout is not None
        assert other.stdout.readline() == "held\n"
        assert f"pid {other.pid}" in str(holder(tmp_path))
        with pytest.raises(StateError, match=f"in use.*pid {other.pid}"), locked(tmp_path):
            pass
    finally:
        other.kill()
        other.wait()
    deadline = time.monotonic() + 5
    while holder(tmp_path) and time.monotonic() < deadline:
        time.sleep(0.01)
    with locked(tmp_path):
        assert f"pid {os.getpid()}" in (tmp_path / "lock").read_text()
