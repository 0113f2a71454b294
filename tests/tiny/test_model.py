import hashlib
import json
import subprocess
import sys
from fractions import Fraction

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from rdiverse_verl.tiny import base_model_path
from rdiverse_verl.tiny.scores import boxed_answer, program_shape, score


@pytest.fixture(scope="module")
def shipped_scores():
    return json.loads((base_model_path() / "scores.json").read_text())


def test_shipped_weights_are_the_scored_ones_and_small(shipped_scores):
    weights = base_model_path() / "model.safetensors"
    assert hashlib.sha256(weights.read_bytes()).hexdigest() == shipped_scores["weights_sha256"]
    assert weights.stat().st_size <= 3 * 2**20


def test_shipped_scores_meet_the_quality_asked_of_a_base_model(shipped_scores):
    assert 0.40 <= shipped_scores["solver_accuracy"] <= 0.70
    assert shipped_scores["challenger_well_formed"] >= 0.90
    assert shipped_scores["coder_parsable"] >= 0.90
    assert shipped_scores["coder_right_program"] >= 0.95


def test_shipped_weights_reach_their_scores_again(shipped_scores):
    tokenizer = AutoTokenizer.from_pretrained(base_model_path())
    model = AutoModelForCausalLM.from_pretrained(base_model_path(), dtype=torch.float32).eval()
    assert model.config.vocab_size == len(tokenizer)
    assert model.num_parameters() <= 1_500_000
    again = score(model, tokenizer, n=170)
    # Shares of 170 problems against shares of all: three standard errors of a fair coin are 0.12.
    assert again["solver_accuracy"] == pytest.approx(shipped_scores["solver_accuracy"], abs=0.12)
    assert again["challenger_well_formed"] >= 0.90
    assert again["coder_parsable"] >= 0.90
    assert again["coder_right_program"] >= 0.95


def test_replies_are_read_strictly():
    assert boxed_answer("2+6=8, 2/8=1/4\n\\boxed{1/4}") == Fraction(1, 4)
    assert boxed_answer("\\boxed{6}") == 6
    assert boxed_answer("\\boxed{3/0}") is None
    assert boxed_answer("\\boxed{3} and more") is None
    assert program_shape("def solver(n1=3):\n    return n1") == program_shape("def solver(n1=99):\n    return n1")
    assert program_shape("def solver(n1=3):\n    return n1") != program_shape("def solver(n1=3):\n    return -n1")
    assert program_shape("def solver(n1=3:") is None


def test_training_twice_writes_the_same_bytes(tmp_path):
    program = (
        "import sys; from pathlib import Path; from rdiverse_verl.tiny.train import build_tokenizer, save, train;"
        "tokenizer = build_tokenizer(); model = train(tokenizer, int(sys.argv[1]), 3);"
        "print(save(model, tokenizer, Path(sys.argv[2])))"
    )
    hashes = [
        subprocess.run(
            [sys.executable, "-c", program, seed, tmp_path / name],
            check=True,
            capture_output=True,
            text=True,
            timeout=300,
        ).stdout.split()[-1]
        for name, seed in (("first", "0"), ("second", "0"), ("other", "1"))
    ]
    assert hashes[0] == hashes[1] != hashes[2]
