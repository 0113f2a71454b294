"""What outlives a step: answers, prefixes and guided prompts, and their way through a file."""

import io
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdiverse_verl.algorithms.answer_memory import AnswerMemory
from rdiverse_verl.algorithms.guided_queue import GuidedPrompt, GuidedQueue
from rdiverse_verl.algorithms.prefix_memory import PrefixMemory, make_prefixes
from rdiverse_verl.errors import ConfigError, DataError, StateError


@pytest.fixture
def through_a_file():
    """Write a state as plain arrays and JSON, without pickle, and read it again."""

    def carry(state):
        arrays = {name: value for name, value in state.items() if isinstance(value, np.ndarray)}
        others = json.loads(json.dumps({name: value for name, value in state.items() if name not in arrays}))
        buffer = io.BytesIO()
        np.savez(buffer, allow_pickle=False, **arrays)
        buffer.seek(0)
        return {**dict(np.load(buffer, allow_pickle=False)), **others}

    return carry


def assert_equal_states(left, right):
    assert left.keys() == right.keys()
    for name, value in left.items():
        if isinstance(value, np.ndarray):
            assert value.dtype == right[name].dtype
            np.testing.assert_array_equal(value, right[name])
        else:
            assert value == right[name]


def guided(root, step=0, prefix=(1, 2)):
    return GuidedPrompt(root, prefix, 0.5, step, {"reward_model": {"ground_truth": root}})


def test_the_last_six_answers_of_a_prompt_are_kept(unit_rows):
    memory, emb_N_D = AnswerMemory(), unit_rows(9)
    memory.add("x", emb_N_D[:4])
    memory.add("x", emb_N_D[4:8])
    memory.add("y", emb_N_D[8:])
    memory.add("z", [])
    memory_B_M_D, known_B_M = memory.vectors(["y", "x", "z"], 8)
    assert known_B_M.sum(axis=1).tolist() == [1, 6, 0]
    np.testing.assert_allclose(memory_B_M_D[1], emb_N_D[2:8], atol=1e-3)
    np.testing.assert_allclose(np.linalg.norm(memory_B_M_D[known_B_M], axis=1), 1, atol=1e-6)
    assert len(memory) == 7


def test_answers_are_copies(unit_rows):
    memory, emb_N_D = AnswerMemory(dtype=np.float32), unit_rows(1)
    memory.add("x", emb_N_D)
    before = emb_N_D[0].copy()
    emb_N_D[:] = 0
    np.testing.assert_array_equal(memory.get("x")[0], before)


def test_an_answer_memory_survives_a_file_to_the_bit(unit_rows, through_a_file):
    memory, emb_N_D = AnswerMemory(), unit_rows(10)
    for root, part in (("b", slice(0, 7)), ("a", slice(7, 10))):
        memory.add(root, emb_N_D[part])
    again = AnswerMemory()
    again.restore(through_a_file(memory.state()))
    assert_equal_states(again.state(), memory.state())
    for store in (memory, again):
        store.add("b", emb_N_D[:2])
    assert_equal_states(again.state(), memory.state())


def test_token_memories_hold_answers_of_any_length(through_a_file):
    memory = AnswerMemory(2, np.int32)
    memory.add("x", [[1], [], [200_000, 3]])
    again = AnswerMemory(2, np.int32)
    again.restore(through_a_file(memory.state()))
    assert [answer.tolist() for answer in again.get("x")] == [[], [200_000, 3]]
    with pytest.raises(StateError, match="int32"):
        AnswerMemory().restore(memory.state())


def test_an_empty_memory_survives_a_file(through_a_file):
    for make in (AnswerMemory, PrefixMemory, GuidedQueue):
        again = make()
        again.restore(through_a_file(make().state()))
        assert len(again) == 0
        assert_equal_states(again.state(), make().state())


def test_a_damaged_pool_is_refused(unit_rows):
    memory = AnswerMemory()
    memory.add("x", unit_rows(2))
    state = memory.state()
    with pytest.raises(StateError, match="15 elements"):
        memory.restore({**state, "pool": state["pool"][:-1]})


def prefixes_of(count, step, dim=4, seed=0):
    """`count` prefixes of two rollouts; the tokens tell rollout and step."""
    rng = np.random.default_rng(seed)
    rollouts = [step * 1000 + np.arange(count), step * 1000 + 500 + np.arange(count)]
    emb_P_D = rng.normal(size=(count, dim))
    emb_P_D /= np.linalg.norm(emb_P_D, axis=1, keepdims=True)
    return make_prefixes(rollouts, np.arange(count) % 2, np.arange(count) + 1, rng.random(count), emb_P_D, step)


def test_the_newest_prefixes_of_a_prompt_are_kept_with_their_tokens():
    memory = PrefixMemory(per_root=5)
    memory.add("x", prefixes_of(4, 1))
    memory.add("x", prefixes_of(3, 2))
    kept = memory.get("x", 2)
    assert kept.step_P.tolist() == [1, 1, 2, 2, 2]
    assert [kept.token_ids(p) for p in range(5)] == [
        [1000, 1001, 1002],
        [1500, 1501, 1502, 1503],
        [2000],
        [2500, 2501],
        [2000, 2001, 2002],
    ]
    np.testing.assert_allclose(np.linalg.norm(kept.unit_emb_P_D(), axis=1), 1, atol=1e-6)


def test_prefixes_of_one_rollout_share_its_tokens_and_no_more_than_needed():
    memory = PrefixMemory()
    memory.add("x", make_prefixes([np.arange(4000)], [0, 0, 0], [5, 9, 7], [1.0, 2, 3], np.eye(3), 1))
    assert memory.state()["tokens"].tolist() == list(range(9))


def test_old_prefixes_are_not_given_and_can_be_forgotten():
    memory = PrefixMemory(max_age=10)
    memory.add("x", prefixes_of(2, 1))
    memory.add("x", prefixes_of(3, 8))
    memory.add("y", prefixes_of(1, 1))
    assert len(memory.get("x", 11)) == 5
    assert memory.get("x", 12).step_P.tolist() == [8, 8, 8]
    assert memory.get("y", 12) is None
    assert memory.get("unknown", 12) is None
    assert memory.forget_old(12) == 3
    assert len(memory) == 3
    assert PrefixMemory().forget_old(10**6) == 0


def test_a_prefix_memory_survives_a_file_to_the_bit(through_a_file):
    memory = PrefixMemory(per_root=6, max_age=50)
    for step, root in ((1, "b"), (2, "a"), (3, "b")):
        memory.add(root, prefixes_of(4, step, seed=step))
    again = PrefixMemory(per_root=6, max_age=50)
    again.restore(through_a_file(memory.state()))
    assert_equal_states(again.state(), memory.state())
    for store in (memory, again):
        store.add("b", prefixes_of(3, 4))
    assert_equal_states(again.state(), memory.state())
    np.testing.assert_array_equal(again.get("b", 4).emb_P_D, memory.get("b", 4).emb_P_D)


@pytest.mark.parametrize(("rollout", "length"), [(1, 1), (0, 4), (0, 0), (-1, 1)])
def test_a_prefix_needs_its_tokens(rollout, length):
    with pytest.raises(DataError, match="prefix 0"):
        make_prefixes([[1, 2, 3]], [rollout], [length], [0.5], np.eye(1), 0)


def test_guided_prompts_are_served_first_in_first_out_with_their_whole_row():
    queue = GuidedQueue()
    for root in "abc":
        queue.push(guided(root))
    assert [prompt.root for prompt in queue.pop(2)] == ["a", "b"]
    assert queue.pop(5) == [guided("c")]
    assert queue.pop(1) == queue.pop(-1) == []


def test_a_waiting_root_keeps_its_place_and_takes_the_newer_prefix():
    queue = GuidedQueue()
    for prompt in (guided("a"), guided("b"), guided("a", step=7, prefix=(9,))):
        queue.push(prompt)
    assert (len(queue), queue.replaced, queue.dropped) == (2, 1, 0)
    assert [(prompt.root, prompt.prefix_ids, prompt.step) for prompt in queue.pop(2)] == [
        ("a", (9,), 7),
        ("b", (1, 2), 0),
    ]


def test_a_full_queue_drops_the_oldest():
    queue = GuidedQueue(max_size=3)
    for root in "abcde":
        queue.push(guided(root))
    assert queue.dropped == 2
    assert [prompt.root for prompt in queue.pop(9)] == ["c", "d", "e"]


def test_prefixes_that_no_longer_fit_are_dropped_and_counted():
    queue = GuidedQueue()
    for root, length in (("a", 3), ("b", 4), ("c", 5)):
        queue.push(GuidedPrompt(root, tuple(range(length)), 0.1, 1, {}))
    assert queue.drop_longer(3) == 2
    assert queue.dropped == 2
    assert [prompt.root for prompt in queue.pop(9)] == ["a"]


def test_the_papers_queue_holds_4096():
    queue = GuidedQueue()
    for number in range(4097):
        queue.push(guided(str(number)))
    assert (len(queue), queue.dropped, queue.pop(1)[0].root) == (4096, 1, "1")


def test_a_queue_survives_a_file_to_the_bit(through_a_file):
    queue = GuidedQueue(max_size=3)
    for prompt in (guided("a"), guided("b", 2), guided("b", 3, (200_000,)), guided("c"), guided("d")):
        queue.push(prompt)
    again = GuidedQueue(max_size=3)
    again.restore(through_a_file(queue.state()))
    assert_equal_states(again.state(), queue.state())
    assert again.pop(3) == queue.pop(3)
    smaller = GuidedQueue(max_size=1)
    queue.push(guided("x"))
    queue.push(guided("y"))
    smaller.restore(queue.state())
    assert (smaller.dropped, smaller.pop(2)) == (queue.dropped + 1, [guided("y")])


@given(st.lists(st.tuples(st.sampled_from("abcdef"), st.booleans())))
def test_nothing_that_was_queued_gets_lost_uncounted(moves):
    queue, pushed, served = GuidedQueue(max_size=3), 0, 0
    for root, push in moves:
        if push:
            queue.push(guided(root))
            pushed += 1
        else:
            served += len(queue.pop(1))
    assert pushed == served + len(queue) + queue.dropped + queue.replaced


def test_senseless_stores_are_refused():
    with pytest.raises(DataError, match="empty prefix"):
        GuidedQueue().push(guided("a", prefix=()))
    for make in (lambda: GuidedQueue(0), lambda: AnswerMemory(0), lambda: PrefixMemory(0), lambda: PrefixMemory(1, -1)):
        with pytest.raises(ConfigError):
            make()
