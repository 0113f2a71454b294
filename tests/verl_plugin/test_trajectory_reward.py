"""The reward manager and its encoder, in a Ray of their own: whole trajectories graded, and what cannot be embedded."""

import asyncio
import contextlib
import os
import shutil
import signal
import tempfile

import numpy as np
import pytest
import torch
from omegaconf import OmegaConf
from tensordict import TensorDict
from verl import DataProto

from rdiverse_verl.embedding.hashed import HashEncoder
from rdiverse_verl.embedding.length_aware import LengthAwareEncoder
from rdiverse_verl.embedding.model_files import find_model
from rdiverse_verl.errors import ConfigError
from rdiverse_verl.verl_plugin.embedder import NAME, Embedder
from rdiverse_verl.verl_plugin.prompt_rows import to_json
from rdiverse_verl.verl_plugin.row_fields import PREFIX, ROW_SEED
from rdiverse_verl.verl_plugin.settings import Embedding

ray = pytest.importorskip("ray")
pytestmark = pytest.mark.slow

GUIDED_TEXT, SUFFIX = "3 + 4 = 7\n", "so \\boxed{7}"


@pytest.fixture(scope="module")
def ray_of_this_file():
    with tempfile.TemporaryDirectory(prefix="emb", dir="/tmp", ignore_cleanup_errors=True) as folder:
        ray.init(num_cpus=1, _temp_dir=folder, include_dashboard=False, log_to_driver=False)
        yield
        ray.shutdown()


@pytest.fixture
def cluster(ray_of_this_file):
    """No encoder yet: each test has its own under the one name."""
    yield
    with contextlib.suppress(ValueError):
        ray.kill(ray.get_actor(NAME))


@pytest.fixture(scope="module")
def tokenizer(base_model):
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(base_model)


def sample(tokenizer, text, prefix="", gold="7", training=True):
    """One rollout as verl hands it to a reward manager: the response padded on the right.

    The mask is of no use: with several outputs in a session verl pads it behind prompts of other lengths.
    """
    ids = tokenizer(text, add_special_tokens=False)["input_ids"]
    padded = torch.tensor([*ids, 0, 0])[None]
    mask = torch.ones((1, 3 + padded.shape[1]), dtype=torch.int64)
    row = {"data_source": "math", "extra_info": {"index": 0}, "reward_model": {"ground_truth": gold}}
    if gold is None:
        row["reward_model"] = {"style": "rule"}
    if training:
        row[ROW_SEED] = 1
    if prefix:
        row[PREFIX] = to_json({"ids": tokenizer(prefix, add_special_tokens=False)["input_ids"], "mte": 0.5})
    row["response_len"] = len(ids)
    columns = {name: np.array([value], dtype=object) for name, value in row.items()}
    return DataProto(TensorDict({"responses": padded, "attention_mask": mask}, batch_size=1), columns)


def judge(tokenizer, samples, estimator, seen):
    """What the manager says of each sample; the reward function notes what it was given."""
    from verl.experimental.reward_loop.reward_manager import get_reward_manager_cls

    def compute_score(data_source, solution_str, ground_truth, extra_info):
        seen.append((solution_str, ground_truth, extra_info["response_length"]))
        return float(f"boxed{{{ground_truth}}}" in solution_str)

    config = OmegaConf.create(
        {"algorithm": {"adv_estimator": estimator}, "rdiverse": {"embedding": {"encoder": "hash"}}}
    )

    async def run():
        manager = get_reward_manager_cls("rdiverse_trajectory")(config, tokenizer, compute_score)
        return await asyncio.gather(*(manager.run_single(data) for data in samples))

    return asyncio.run(run())


def test_trajectories(cluster, tokenizer):
    seen = []
    samples = [
        sample(tokenizer, SUFFIX, prefix=GUIDED_TEXT),
        sample(tokenizer, "\\boxed{8}"),
        sample(tokenizer, ""),
        sample(tokenizer, "1"),
        sample(tokenizer, "\\boxed{7}", gold=None),
        sample(tokenizer, "\\boxed{7}", training=False),
    ]
    guided, wrong, empty, short, ungraded, validation = judge(tokenizer, samples, "dra_grpo", seen)
    whole = GUIDED_TEXT + SUFFIX
    assert seen[0] == (whole, "7", len(tokenizer(GUIDED_TEXT + SUFFIX, add_special_tokens=False)["input_ids"]))
    assert guided["reward_score"] == 1.0
    encoder = LengthAwareEncoder(HashEncoder())
    for text, answer in ((whole, guided), ("\\boxed{8}", wrong), ("1", short)):
        np.testing.assert_array_equal(answer["reward_extra_info"]["vector"], encoder.encode([text])[0])
        assert (answer["reward_extra_info"]["fault"], answer["reward_extra_info"]["ungraded"]) == ("", "")
    assert (empty["reward_extra_info"]["vector"], empty["reward_extra_info"]["fault"]) == (None, "empty text")
    assert (empty["reward_score"], empty["reward_extra_info"]["acc"]) == (0.0, 0.0)
    assert ungraded["reward_extra_info"]["ungraded"] == "no reward_model.ground_truth in its data set row"
    assert (ungraded["reward_score"], ungraded["reward_extra_info"]["vector"]) == (0.0, None)
    # verl averages every number it finds with a validation row
    assert set(validation["reward_extra_info"]) == {"acc"}
    assert len({frozenset(answer["reward_extra_info"]) for answer in (guided, wrong, empty, short, ungraded)}) == 1


@pytest.mark.parametrize(("estimator", "embedded"), [("extra_grpo", [True, False]), ("grpo", [False, False])])
def test_only_what_is_needed_is_encoded(cluster, tokenizer, estimator, embedded):
    embedder = Embedder(Embedding(encoder="hash"))  # an actor lives while somebody holds it
    answers = judge(tokenizer, [sample(tokenizer, "\\boxed{7}"), sample(tokenizer, "\\boxed{8}")], estimator, [])
    assert [answer["reward_extra_info"]["vector"] is not None for answer in answers] == embedded
    assert embedder.counts()["texts"] == sum(embedded)


def test_a_killed_encoder_answers_all_the_same(cluster):
    embedder = Embedder(Embedding(encoder="hash"))
    before = embedder.embed(["a b"], [[3]])

    async def killed_meanwhile():
        asked = [asyncio.create_task(embedder.embed_text("a b")) for _ in range(20)]
        await asyncio.sleep(0)
        os.kill(await embedder._actor.pid.remote(), signal.SIGKILL)
        later = asyncio.create_task(embedder.embed_text("a b"))
        return await asyncio.gather(*asked, later)

    for answer in asyncio.run(killed_meanwhile()):
        assert answer.fault == ""
        np.testing.assert_array_equal(answer.emb_P_D, before[0].emb_P_D)


def test_a_busy_encoder_is_waited_for_and_one_that_hangs_is_given_up(cluster):
    patient = Embedder(Embedding())
    patient.space()
    hasty = Embedder(Embedding(timeout_s=1))
    texts = [f"{i} " + "and so we add the next term to the sum, " * 30 for i in range(60)]
    assert [answer.fault for answer in hasty.embed(texts, [[len(text)] for text in texts])] == [""] * 60
    assert patient.counts()["seconds"] > 2, "the encoder was not busy for long enough to tell"
    pid = ray.get(hasty._actor.pid.remote())
    os.kill(pid, signal.SIGSTOP)
    try:
        [answer] = hasty.embed(["a b"], [[3]])
    finally:
        os.kill(pid, signal.SIGCONT)
    assert answer.fault == "the encoder finished no text in 1 s"


def test_an_encoder_of_nan_is_refused_at_start(cluster, tmp_path):
    import safetensors.torch

    folder = tmp_path / "nan"
    shutil.copytree(find_model("all-MiniLM-L6-v2"), folder)
    [weights] = folder.glob("*.safetensors")
    tensors = safetensors.torch.load_file(weights)
    weights.unlink()
    broken = {name: value * torch.nan if value.is_floating_point() else value for name, value in tensors.items()}
    safetensors.torch.save_file(broken, weights)
    with pytest.raises(ConfigError, match=r"rdiverse.embedding: .*a vector of length nan"):
        Embedder(Embedding(encoder=str(folder))).space()


def test_no_encoder_is_said_with_the_key(cluster):
    with pytest.raises(ConfigError, match=r"rdiverse.embedding: no encoder '/no/such'.*neither a folder"):
        Embedder(Embedding(encoder="/no/such")).space()
