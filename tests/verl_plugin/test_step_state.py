"""State in a checkpoint: bit-equal, whole or absent, and refused where it does not belong."""

import json

import numpy as np
import pytest

from rdiverse_verl.algorithms.answer_memory import AnswerMemory
from rdiverse_verl.algorithms.guided_queue import GuidedPrompt, GuidedQueue
from rdiverse_verl.algorithms.prefix_memory import PrefixMemory, make_prefixes
from rdiverse_verl.errors import StateError
from rdiverse_verl.verl_plugin.step_state import FILE, load_state, save_state

IDENTITY = {"encoder": "hash-64d", "tokenizer": "abc", "novelty": "embedding"}
SOURCE = {"raw_prompt": [{"role": "user", "content": "½?"}], "reward_model": {"ground_truth": "7"}, "index": 3}


def stores():
    rng = np.random.default_rng(0)
    answers, prefixes, queue = AnswerMemory(), PrefixMemory(), GuidedQueue()
    answers.add("r1", rng.normal(size=(4, 8)))
    prefixes.add("r2", make_prefixes([[5, 6, 7]], [0, 0], [2, 3], [0.5, 0.25], rng.normal(size=(2, 8)), step=4))
    queue.push(GuidedPrompt("r2", (5, 6), 0.5, 4, SOURCE))
    return {"answers": answers, "memory": prefixes, "queue": queue}


def plain(tree):
    if isinstance(tree, dict):
        return {name: plain(value) for name, value in tree.items()}
    return tree.tolist() if isinstance(tree, np.ndarray) else tree


def test_restored_stores_are_equal(tmp_path):
    state = {name: store.state() for name, store in stores().items()} | {"deferred": [SOURCE]}
    save_state(tmp_path, IDENTITY, state)
    loaded = load_state(tmp_path, IDENTITY)
    assert plain(loaded) == plain(state)
    restored = {"answers": AnswerMemory(), "memory": PrefixMemory(), "queue": GuidedQueue()}
    for name, store in restored.items():
        store.restore(loaded[name])
        assert plain(store.state()) == plain(state[name])
    assert restored["queue"].pop(1) == [GuidedPrompt("r2", (5, 6), 0.5, 4, SOURCE)]


def test_empty_stores_too(tmp_path):
    state = {"answers": AnswerMemory().state(), "memory": PrefixMemory().state(), "queue": GuidedQueue().state()}
    save_state(tmp_path, IDENTITY, state)
    assert plain(load_state(tmp_path, IDENTITY)) == plain(state)


@pytest.mark.parametrize("name", list(IDENTITY))
def test_another_encoder_tokenizer_or_signal_is_refused(tmp_path, name):
    save_state(tmp_path, IDENTITY, {"answers": AnswerMemory().state()})
    with pytest.raises(StateError, match=f"written with {name} .*this run has 'other'"):
        load_state(tmp_path, IDENTITY | {name: "other"})


def test_a_cut_off_file_is_refused_and_a_missing_one_is_said(tmp_path, caplog):
    assert load_state(tmp_path, IDENTITY) is None
    assert "goes on with empty memories" in caplog.text
    save_state(tmp_path, IDENTITY, {"answers": stores()["answers"].state()})
    whole = (tmp_path / FILE).read_bytes()
    for size in (0, 10, len(whole) // 2, len(whole) - 1):
        (tmp_path / FILE).write_bytes(whole[:size])
        with pytest.raises(StateError, match="damaged"):
            load_state(tmp_path, IDENTITY)


def test_a_write_that_fails_leaves_the_earlier_state(tmp_path):
    save_state(tmp_path, IDENTITY, {"deferred": [SOURCE]})
    with pytest.raises(TypeError):
        save_state(tmp_path, IDENTITY, {"deferred": [{1j: 2}]})
    assert load_state(tmp_path, IDENTITY) == {"deferred": [SOURCE]}
    json.dumps(SOURCE)
