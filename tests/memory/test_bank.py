import dataclasses
import sqlite3

import numpy as np
import pytest

from rdiverse_verl.errors import DataError, StateError
from rdiverse_verl.memory import FrozenMemory, MemoryBank


@pytest.fixture
def bank(tmp_path):
    with MemoryBank(tmp_path / "memory.sqlite", "encoder-a", 8) as bank:
        yield bank


def test_rows_come_back_bit_by_bit(bank, make_rows):
    rows = make_rows(3, iteration=1)
    rows[1] = dataclasses.replace(rows[1], question="Où? 求n 'q' \x00 z", p_hat=0.1 + 0.2)
    assert bank.append(1, rows) == 3
    for kept, given in zip(bank.rows(), rows, strict=True):
        assert (kept.question, kept.answer, kept.p_hat, kept.iteration, kept.code) == (
            given.question,
            given.answer,
            given.p_hat,
            given.iteration,
            given.code,
        )
        np.testing.assert_array_equal(kept.vector, given.vector)


def test_appending_again_changes_nothing(bank, make_rows):
    bank.append(1, make_rows(4, iteration=1))
    before = bank.digest()
    assert bank.append(1, make_rows(4, iteration=1)) == 0
    assert (len(bank), bank.digest()) == (4, before)
    assert bank.append(1, make_rows(6, iteration=1)[4:]) == 2


def test_a_question_enters_once_an_iteration(bank, make_rows):
    first, second = make_rows(2, iteration=1)
    twin = dataclasses.replace(first, p_hat=0.6)
    assert bank.append(1, [first, second, twin]) == 2
    assert bank.rows()[0].p_hat == 0.5
    assert bank.append(2, [dataclasses.replace(first, iteration=2)]) == 1


def test_a_changed_iteration_is_refused_whole(bank, make_rows):
    rows = make_rows(2, iteration=1)
    bank.append(1, rows)
    before = bank.digest()
    changed = [*make_rows(3, iteration=1)[2:], dataclasses.replace(rows[0], p_hat=0.6)]
    with pytest.raises(StateError, match="truncate_from"):
        bank.append(1, changed)
    assert bank.digest() == before


def test_truncated_and_appended_again_equals_never_interrupted(bank, make_rows, tmp_path):
    for iteration in (1, 2, 3):
        bank.append(iteration, make_rows(5, iteration))
    assert bank.truncate_from(2) == 10
    for iteration in (2, 3):
        bank.append(iteration, make_rows(5, iteration))
    with MemoryBank(tmp_path / "other.sqlite", "encoder-a", 8) as unbroken:
        for iteration in (1, 2, 3):
            unbroken.append(iteration, make_rows(5, iteration))
        assert unbroken.digest() == bank.digest()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"vector": np.ones(7, dtype=np.float32)}, "shape"),
        ({"vector": np.full(8, np.nan, dtype=np.float32)}, "unit length"),
        ({"vector": np.ones(8, dtype=np.float32)}, "unit length"),
        ({"question": ""}, "must not be empty"),
        ({"code": "x = '\ud800'"}, "surrogate"),
        ({"p_hat": float("nan")}, "p_hat"),
        ({"iteration": 9}, "belongs to iteration 9"),
    ],
)
def test_a_bad_row_is_named_and_nothing_is_kept(bank, make_rows, change, message):
    good, bad = make_rows(2, iteration=1)
    with pytest.raises(DataError, match=rf"row 1 of iteration 1.*{message}"):
        bank.append(1, [good, dataclasses.replace(bad, **change)])
    assert len(bank) == 0


@pytest.mark.parametrize(("encoder", "dim"), [("encoder-b", 8), ("encoder-a", 16)])
def test_a_foreign_encoder_is_refused_by_writer_and_reader(bank, encoder, dim):
    with pytest.raises(StateError, match=r"'(encoder-a|8)', this run uses '(encoder-b|16)'"):
        MemoryBank(bank.path, encoder, dim)
    with pytest.raises(StateError, match="cannot be compared"):
        FrozenMemory.open(bank.path, encoder, dim, before_iteration=1)


def test_an_iteration_meets_only_those_before_it(bank, make_rows):
    for iteration in (1, 2):
        bank.append(iteration, make_rows(3, iteration))
    assert [len(bank.frozen(t)) for t in (1, 2, 3)] == [0, 3, 6]
    own = np.stack([row.vector for row in make_rows(3, 2)])
    assert bank.frozen(2).similarity(own)[0].max() < 0.999
    np.testing.assert_allclose(bank.frozen(3).similarity(own)[0], 1, atol=1e-6)


def test_similarity_by_hand(bank, make_rows):
    axes = np.eye(8, dtype=np.float32)
    rows = [dataclasses.replace(r, vector=axes[i]) for r, i in zip(make_rows(3, 1), (0, 0, 1), strict=True)]
    bank.append(1, rows)
    queries = np.stack([axes[0], -axes[1], (axes[0] + axes[1]) / np.sqrt(2), axes[5]])
    p_max_N, p_mean_N = bank.frozen(2).similarity(queries)
    half = np.sqrt(0.5)
    np.testing.assert_allclose(p_max_N, [1, 0, half, 0], atol=1e-7)
    np.testing.assert_allclose(p_mean_N, [2 / 3, -1 / 3, half, 0], atol=1e-7)


def test_an_empty_memory_penalises_nothing(bank):
    p_max_N, p_mean_N = bank.frozen(1).similarity(np.eye(8)[:3])
    assert (p_max_N.tolist(), p_mean_N.tolist()) == ([0, 0, 0], [0, 0, 0])


def test_similarity_does_not_depend_on_company(bank, make_rows):
    bank.append(1, make_rows(300, 1))
    memory = bank.frozen(2)
    queries = np.stack([row.vector for row in make_rows(40, 7)])
    together = np.stack(memory.similarity(queries))
    alone = np.hstack([np.stack(memory.similarity(queries[i : i + 1])) for i in range(40)])
    np.testing.assert_array_equal(alone, together)
    columns = np.asfortranarray(queries.astype(np.float64))
    np.testing.assert_array_equal(np.stack(memory.similarity(columns)), together)


def test_a_snapshot_does_not_see_later_rows(bank, make_rows):
    bank.append(1, make_rows(2, 1))
    memory = bank.frozen(9)
    bank.append(2, make_rows(2, 2))
    assert (len(memory), len(bank.frozen(9))) == (2, 4)


def test_verify_finds_a_row_that_was_tampered_with(bank, make_rows):
    bank.append(1, make_rows(3, 1))
    bank.append(2, make_rows(3, 2))
    bank.verify()
    with sqlite3.connect(bank.path) as other:
        other.execute("UPDATE rows SET p_hat = 0.75 WHERE iteration = 2 AND question LIKE 'Question 1%'")
    with pytest.raises(StateError, match=r"row 4 \(iteration 2\)"):
        bank.verify()


def test_unknown_files_are_refused_with_path_and_way_out(tmp_path):
    with pytest.raises(StateError, match=r"absent\.sqlite does not exist"):
        FrozenMemory.open(tmp_path / "absent.sqlite", "e", 8, 1)
    for name, content in (("empty", b""), ("text", b"not a database" * 999)):
        path = tmp_path / name
        path.write_bytes(content)
        with pytest.raises(StateError, match=rf"{name} cannot be read.*restore a copy"):
            MemoryBank(path, "e", 8)
        assert path.read_bytes() == content


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_a_truncated_file_is_refused(bank, make_rows, share):
    bank.append(1, make_rows(400, 1))
    bank.close()
    content = bank.path.read_bytes()
    bank.path.write_bytes(content[: int(len(content) * share)])
    for open_it in (
        lambda: MemoryBank(bank.path, "encoder-a", 8),
        lambda: FrozenMemory.open(bank.path, "encoder-a", 8, 2),
    ):
        with pytest.raises(StateError, match="restore a copy"):
            open_it()
