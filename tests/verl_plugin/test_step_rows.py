"""Prompts on their way into a batch, and prefixes of hard ones on their way into the queue."""

import itertools
import json

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from omegaconf import OmegaConf
from verl.utils import tensordict_utils as tu

from rdiverse_verl.algorithms.guided_queue import GuidedPrompt
from rdiverse_verl.embedding.batcher import embed_each
from rdiverse_verl.embedding.hashed import HashEncoder
from rdiverse_verl.embedding.length_aware import LengthAwareEncoder
from rdiverse_verl.errors import DataError
from rdiverse_verl.verl_plugin.guided_batches import GuidedBatches
from rdiverse_verl.verl_plugin.hard_prompts import HardPrompt, PrefixExtractor, Rollout
from rdiverse_verl.verl_plugin.prompt_rows import batch_of, read_prefix, root_of, sources_of, to_json
from rdiverse_verl.verl_plugin.regeneration import Regeneration
from rdiverse_verl.verl_plugin.row_fields import COPY, PREFIX, ROOT
from rdiverse_verl.verl_plugin.settings import Extra
from rdiverse_verl.verl_plugin.settings import Regeneration as Settings
from rdiverse_verl.verl_plugin.step_methods import StepMethods
from rdiverse_verl.verl_plugin.validation_copies import NumberedCopies


def row(number, gold="7"):
    return {
        "raw_prompt": [{"role": "user", "content": f"question {number} ½"}],
        "data_source": "math",
        "reward_model": {"style": "rule", "ground_truth": gold},
        "extra_info": {"index": number, "note": None},
        "index": number,
    }


def guided(number, ids=(5, 6), step=1):
    return GuidedPrompt(root_of(row(number)), tuple(ids), 0.25, step, row(number))


def test_rows_come_back_as_they_went_and_guided_ones_with_their_own_truth():
    batch = batch_of([row(1), row(2, "8")], [guided(3)])
    assert tu.unwrap_non_tensor_data(batch["reward_model"][2])["ground_truth"] == "7"
    assert [read_prefix(str(tu.unwrap_non_tensor_data(text))) for text in batch[PREFIX]] == [
        ([], 0.0),
        ([], 0.0),
        ([5, 6], 0.25),
    ]
    assert str(tu.unwrap_non_tensor_data(batch[ROOT][2])) == root_of(row(3))
    assert [{name: source[name] for name in row(1)} for source in sources_of(batch)] == [row(1), row(2, "8"), row(3)]


def test_verls_own_values_become_plain():
    batch = tu.get_tensordict({"raw_prompt": [[{"role": "user", "content": "q"}]], "index": np.array([np.int64(4)])})
    assert sources_of(batch) == [{"raw_prompt": [{"role": "user", "content": "q"}], "index": 4}]
    assert to_json({"scores": np.array([1.5, 2.0]), "n": np.int32(3)}) == '{"scores": [1.5, 2.0], "n": 3}'


def test_what_is_no_text_row_is_refused():
    with pytest.raises(DataError, match="'pixels' is a tensor"):
        sources_of(tu.get_tensordict({"raw_prompt": ["q"], "pixels": torch.zeros(1, 3)}))
    with pytest.raises(DataError, match="holds a object, which is no plain data"):
        to_json({"image": object()})


def test_a_problem_is_its_prompt_source_and_truth():
    assert root_of(row(1)) == root_of(row(1) | {"index": 9, "extra_info": {}})
    different = [row(1), row(2), row(1, "8"), row(1) | {"data_source": "other"}]
    assert len({root_of(one) for one in different}) == 4


@pytest.mark.parametrize(
    ("changed", "message"),
    [({"agent_name": "single_turn_agent"}, "agent_name says 'single_turn_agent'"), ({"reward_model": "7"}, "is '7'")],
)
def test_rows_under_which_regeneration_would_be_wrong_are_refused(changed, message):
    class Loader:
        """verl's trainer, of which the next batch is of interest."""

        config = OmegaConf.create({"data": {"train_batch_size": 2}})

        def _next_train_batch(self, num_prompts):
            return tu.get_tensordict({name: [value] * num_prompts for name, value in (row(1) | changed).items()})

    class Trainer(GuidedBatches, Loader):
        methods = StepMethods(None, Extra())
        regeneration = Regeneration(Settings(), None, 64)
        global_steps = 1

    with pytest.raises(DataError, match=message):
        Trainer()._next_train_batch()


def test_copies_of_a_validation_prompt_are_numbered():
    prompts = [[{"role": "user", "content": text}] for text in "abacaa"]
    loader = [{"raw_prompt": np.array([*prompts[:4], None], dtype=object)[:4]}, {"raw_prompt": prompts[4:]}]
    numbered = NumberedCopies(loader)
    assert len(numbered) == 2
    for _ in range(2):  # each validation begins anew
        assert [number for batch in numbered for number in batch[COPY]] == [0, 0, 1, 0, 2, 3]


@pytest.fixture
def make(base_model):
    """``make(response_length, **settings)``: a Regeneration with the tiny tokenizer and the hash encoder."""
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(base_model)
    encoder = LengthAwareEncoder(HashEncoder())

    class InProcess:
        """The encoder actor's work without the actor."""

        def embed(self, texts, ends):
            return embed_each(encoder, texts, ends)

    def build(response_length=64, **given):
        chosen = Settings(**{"warmup_steps": 0, "min_step_tokens": 1, "per_step": 2, **given})
        return Regeneration(chosen, PrefixExtractor(chosen, tokenizer, InProcess()), response_length)

    build.encode = lambda text: tokenizer(text, add_special_tokens=False)["input_ids"]
    build.decode = tokenizer.decode
    build.vectors = lambda texts: encoder.encode(texts).astype(np.float64)
    return build


@settings(deadline=None, max_examples=50)
@given(
    queued=st.lists(st.integers(0, 3), min_size=1, max_size=12),
    chunk=st.sampled_from([1, 4, 8]),
    count=st.sampled_from([8, 16]),
)
def test_displaced_prompts_are_served_first_and_none_is_lost(queued, chunk, count):
    regeneration = Regeneration(Settings(per_step=3), None, 64)
    numbers, served = itertools.count(), []

    def fetch(wanted):
        assert wanted > 0
        assert wanted % chunk == 0
        return [row(next(numbers)) for _ in range(wanted)]

    for step, new in enumerate(queued, start=1):
        for place in range(new):
            regeneration.queue.push(guided(1000 * step + place))
        scratch, tail = regeneration.compose(count, step, chunk, fetch)
        assert len(scratch) + len(tail) == count
        assert len(tail) == min(3, new)
        served += [source["index"] for source in scratch]
    assert served == list(range(len(served)))
    assert len(regeneration.deferred) < chunk + 3


def test_a_step_that_fetches_twice_gets_its_share_of_guided_prompts_once():
    regeneration = Regeneration(Settings(per_step=3), None, 64)
    for number in range(9):
        regeneration.queue.push(guided(number))
    sizes = [len(regeneration.compose(2, step, 1, lambda n: [row(0)] * n)[1]) for step in (1, 1, 1, 2)]
    assert sizes == [2, 1, 0, 2]


def hard(make, texts, prefix="", prefix_mte=0.0, seed=0):
    """A hard prompt with answers, of which each token has some entropy."""
    rng = np.random.default_rng(seed)
    rollouts = []
    for text in texts:
        ids = np.array(make.encode(text))
        entropy_T = rng.gamma(1.0, 0.4, len(ids)).astype(np.float32)
        prefix_ids = make.encode(prefix) if prefix else []
        rollouts.append(Rollout(prefix_ids, prefix_mte, ids, np.ones(len(ids), bool), entropy_T))
    return HardPrompt(root_of(row(1)), to_json(row(1)), rollouts)


def all_prefixes(make, prompts):
    """(text, tokens, mean entropy) of every prefix that ends a line, by the formula (ExTra, Eq. 3)."""
    found = []
    for prompt in prompts:
        for rollout in prompt.rollouts:
            given = len(rollout.prefix_ids)
            for cut in range(1, len(rollout.response_T) + 1):
                ids = rollout.token_ids[: given + cut]
                if "\n" in make.decode([ids[-1]]) and cut + given <= 0.8 * len(rollout.token_ids):
                    total = given * rollout.prefix_mte + float(rollout.entropy_T[:cut].astype(np.float64).sum())
                    found.append((make.decode(ids), ids, total / len(ids)))
    return found


def smoothest(make, prefixes, tau=0.1):
    emb = make.vectors([text for text, _, _ in prefixes])
    weight = np.exp(emb @ emb.T / tau)
    return prefixes[int(np.argmin(weight @ np.array([mte for _, _, mte in prefixes]) / weight.sum(axis=1)))]


ANSWERS = ["add 3 and 4\nthat is 8\nso 8\n\\boxed{8}", "first 3 times 4\nwe get 12\n\\boxed{12}", "no line at all"]


def test_the_chosen_prefix_is_that_of_the_paper_with_what_was_seen_before(make):
    regeneration = make()
    first, second = hard(make, ANSWERS), hard(make, ["take 4\nand 3\nnot 9\n\\boxed{9}"], seed=1)
    for step, prompts in ((1, [first]), (2, [first, second])):
        regeneration.start([prompts[-1]], step)
        regeneration.finish()
        [chosen] = regeneration.queue.pop(9)
        expected = smoothest(make, all_prefixes(make, prompts))
        assert list(chosen.prefix_ids) == expected[1]
        assert chosen.mte == pytest.approx(expected[2], rel=1e-6)
        assert (chosen.root, chosen.source, chosen.step) == (root_of(row(1)), row(1), step)


def test_a_continued_prefix_counts_with_its_own_entropy_and_is_not_chosen_as_it_was(make):
    regeneration = make()
    prompt = hard(make, ["and so\n10\nor 11\n\\boxed{11}"], prefix="add 3 and 4\n", prefix_mte=2.0)
    regeneration.start([prompt], 1)
    regeneration.finish()
    [chosen] = regeneration.queue.pop(9)
    expected = smoothest(make, all_prefixes(make, [prompt]))
    assert list(chosen.prefix_ids) == expected[1]
    assert chosen.mte == pytest.approx(expected[2], rel=1e-6)
    assert len(chosen.prefix_ids) > len(make.encode("add 3 and 4\n"))


def test_a_prompt_without_a_place_to_cut_is_counted_and_nothing_is_queued(make):
    regeneration = make()
    regeneration.start([hard(make, ["no line at all", "\n", "1", ""]), hard(make, ANSWERS)], 1)
    regeneration.finish()
    assert (len(regeneration.queue), regeneration.no_prefix) == (1, 1)
    assert (regeneration.extracted.without_cut, regeneration.extracted.without_vectors) == (5, 0)


def test_no_prefix_is_longer_than_the_budget_leaves_room_for(make):
    longest = len(make.encode("add 3 and 4\n"))
    regeneration = make(response_length=int(longest / 0.8) + 1)
    regeneration.start([hard(make, ANSWERS)], 1)
    regeneration.finish()
    assert all(len(prompt.prefix_ids) <= longest for prompt in regeneration.queue.pop(9))
    tight = make(response_length=2)
    tight.start([hard(make, ANSWERS)], 1)
    tight.finish()
    assert (len(tight.queue), tight.no_prefix) == (0, 1)


def test_nothing_happens_during_warm_up(make):
    regeneration = make(warmup_steps=30)
    for step, queued in ((30, 0), (31, 1)):
        regeneration.start([hard(make, ANSWERS)], step)
        regeneration.finish()
        assert len(regeneration.queue) == queued


def test_what_goes_wrong_in_the_thread_is_told(make):
    regeneration = make()
    prompt = hard(make, ANSWERS)
    regeneration.start([HardPrompt(prompt.root, "not json", prompt.rollouts)], 1)
    with pytest.raises(json.JSONDecodeError):
        regeneration.finish()


def test_a_checkpoint_of_a_larger_budget_gives_what_still_fits(make, caplog):
    wide, narrow = make(), make(response_length=10)
    wide.queue.push(guided(1, range(20)))
    wide.queue.push(guided(2, range(8)))
    narrow.restore(wide.state())
    assert [prompt.source for prompt in narrow.queue.pop(9)] == [row(2)]
    assert "1 guided prompts of the checkpoint have prefixes of over 8 tokens" in caplog.text
