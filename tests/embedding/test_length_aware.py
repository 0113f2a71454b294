"""Texts beyond the encoder's limit, and all prefixes of a text in one pass."""

import numpy as np
import pytest

from rdiverse_verl.embedding import LengthAwareEncoder, load_encoder
from rdiverse_verl.embedding.hashed import HashEncoder
from rdiverse_verl.errors import ConfigError, DataError

STEPS = [f"Step {i}: we add {i} apples to {3 * i} pears and simplify the sum once more.\n" for i in range(60)]
LONG = "".join(STEPS)
ENDS = np.cumsum([len(step) for step in STEPS]).tolist()


@pytest.fixture(scope="module")
def minilm():
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HF_HUB_OFFLINE", "1")
        yield load_encoder("all-MiniLM-L6-v2")


class Counting(HashEncoder):
    """Counts the words that it is given."""

    words = 0

    def encode(self, texts):
        self.words += sum(len(text.split()) for text in texts)
        return super().encode(texts)


def test_windows_are_whole_words_that_fit_and_cover_the_text(minilm):
    windows = minilm.windows(LONG)
    assert len(windows) > 3
    assert "".join("".join(window.text for window in windows).split()) == "".join(LONG.split())
    before = minilm.truncated
    minilm.encode([window.text for window in windows])
    assert minilm.truncated == before
    assert max(window.tokens for window in windows) <= 254


def test_a_word_longer_than_the_limit_is_cut(minilm):
    windows = minilm.windows("1" * 95 + "," * 600)
    assert sum(len(window.text) for window in windows) == 695
    assert max(window.tokens for window in windows) <= 254


def test_a_short_text_has_the_same_vector_in_both_modes(minilm):
    texts = ["Two apples and two pears.", "Paint it red."]
    pooled, exact = (LengthAwareEncoder(minilm, mode).encode(texts) for mode in ("pool", "exact"))
    np.testing.assert_allclose(pooled, exact, atol=1e-6)


def test_the_end_of_a_long_text_matters_when_pooling_and_not_when_exact(minilm):
    texts = [LONG + "So the answer is a red house.", LONG + "Hence the integral diverges."]
    pooled, exact = (LengthAwareEncoder(minilm, mode) for mode in ("pool", "exact"))
    assert np.ptp(pooled.encode(texts), axis=0).max() > 1e-4
    assert pooled.truncated == 0 or minilm.truncated == pooled.truncated
    before = exact.truncated
    np.testing.assert_array_equal(*exact.encode(texts))
    assert exact.truncated == before + 2


def test_long_prefixes_differ_when_pooling_and_are_all_alike_when_exact(minilm):
    ends = ENDS[30::5]
    pooled = LengthAwareEncoder(minilm).encode_prefixes([LONG], [ends])[0]
    exact = LengthAwareEncoder(minilm, "exact").encode_prefixes([LONG], [ends])[0]
    assert len(np.unique(exact, axis=0)) == 1
    assert len(np.unique(pooled, axis=0)) == len(ends)


def test_a_pooled_vector_is_the_mean_of_its_windows_weighted_by_length():
    inner = HashEncoder(limit=4)
    text = "a b c d e f g"
    mean = 4 * inner.encode(["a b c d"])[0] + 3 * inner.encode(["e f g"])[0]
    np.testing.assert_allclose(LengthAwareEncoder(inner).encode([text])[0], mean / np.linalg.norm(mean), atol=1e-6)


def test_a_prefix_is_the_running_mean_of_its_steps():
    inner = HashEncoder()
    one, two = inner.encode(["a b c\n"])[0], inner.encode(["d\n"])[0]
    found = LengthAwareEncoder(inner).encode_prefixes(["a b c\nd\ne"], [[6, 8]])[0]
    mean = 3 * one + two
    np.testing.assert_allclose(found, [one, mean / np.linalg.norm(mean)], atol=1e-6)


def test_all_prefixes_of_a_rollout_cost_one_pass():
    pooled, exact = Counting(limit=64), Counting(limit=10**6)
    words = len(LONG.split())
    LengthAwareEncoder(pooled).encode_prefixes([LONG], [ENDS])
    LengthAwareEncoder(exact, "exact").encode_prefixes([LONG], [ENDS])
    assert pooled.words == words
    assert exact.words > 25 * words


def test_prefixes_do_not_depend_on_their_company():
    encoder = LengthAwareEncoder(HashEncoder(limit=8))
    together = encoder.encode_prefixes([LONG, "x y", LONG[:300]], [ENDS[:20], [], [90, 300]])
    assert [len(vectors) for vectors in together] == [20, 0, 2]
    np.testing.assert_array_equal(together[0], encoder.encode_prefixes([LONG], [ENDS[:20]])[0])
    np.testing.assert_array_equal(together[2], encoder.encode_prefixes([LONG[:300]], [[90, 300]])[0])


@pytest.mark.parametrize("mode", ["pool", "exact"])
def test_nothing_in_nothing_out(mode):
    encoder = LengthAwareEncoder(HashEncoder(), mode)
    assert encoder.encode([]).shape == (0, 64)
    assert encoder.encode_prefixes([], []) == []
    assert encoder.encode([""]).shape == (1, 64)


@pytest.mark.parametrize("ends", [[0], [3, 3], [4, 2], [99]])
def test_prefix_ends_must_ascend_inside_the_text(ends):
    with pytest.raises(DataError, match="prefix"):
        LengthAwareEncoder(HashEncoder()).encode_prefixes(["abcdef"], [ends])


def test_modes_live_in_spaces_of_their_own():
    assert LengthAwareEncoder(HashEncoder()).id != LengthAwareEncoder(HashEncoder(), "exact").id
    with pytest.raises(ConfigError, match="truncate"):
        LengthAwareEncoder(HashEncoder(), "truncate")


def test_a_prompt_changes_the_vectors_and_the_space(minilm):
    prompted = load_encoder("all-MiniLM-L6-v2", prompt="clustering: ")
    assert prompted.id != minilm.id
    np.testing.assert_array_equal(prompted.encode(["apples"]), minilm.encode(["clustering: apples"]))
    assert max(window.tokens for window in prompted.windows(LONG)) < max(w.tokens for w in minilm.windows(LONG))


def test_a_device_that_is_not_there_is_named():
    with pytest.raises(ConfigError, match="cuda:7"):
        load_encoder("all-MiniLM-L6-v2", device="cuda:7")
    with pytest.raises(ConfigError, match="gpu"):
        load_encoder("all-MiniLM-L6-v2", device="gpu")


def test_hash_vectors_tell_texts_apart_and_stay_the_same():
    close, closer, far = load_encoder("hash").encode(["a b c d e f", "a b c d e g", "u v w x y z"])
    assert close @ closer > 0.6 > 0.4 > close @ far
    np.testing.assert_array_equal(HashEncoder().encode(["a b c d e f"])[0], close)
    assert np.isfinite(HashEncoder().encode([""])).all()
