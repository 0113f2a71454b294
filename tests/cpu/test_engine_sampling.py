"""Sampling of one token, and the options a caller may give."""

import math

import pytest
import torch

from rdiverse_verl.cpu.options import SamplingOptions
from rdiverse_verl.cpu.sampling import sample_tokens
from rdiverse_verl.errors import ConfigError

# Ids 0..4 with probabilities 0.1, 0.4, 0.05, 0.25, 0.2.
PROBS = [0.1, 0.4, 0.05, 0.25, 0.2]


def tokens_at(uniforms, **options):
    logits = torch.tensor(PROBS, dtype=torch.float64).log().repeat(len(uniforms), 1)
    return sample_tokens(logits, [SamplingOptions(**options)] * len(uniforms), uniforms)


@pytest.mark.parametrize(
    ("options", "uniforms", "tokens"),
    [
        # cumulative: 0.1, 0.5, 0.55, 0.8, 1
        (
            {},
            [0.0, 0.0999, 0.1001, 0.4999, 0.5001, 0.5499, 0.5501, 0.7999, 0.8001, 1 - 2**-53],
            [0, 0, 1, 1, 2, 2, 3, 3, 4, 4],
        ),
        # top-k 2 leaves ids 1 and 3, 0.4 to 0.25: id 1 below 0.4 / 0.65 = 0.6154
        ({"top_k": 2}, [0.0, 0.615, 0.616, 0.9999], [1, 1, 3, 3]),
        # top-p 0.7: 0.4 and 0.4 + 0.25 < 0.7 ask for one more, 0.2; left 1, 3, 4: cut points 0.4 / 0.85, 0.65 / 0.85
        ({"top_p": 0.7}, [0.0, 0.470, 0.471, 0.764, 0.765, 0.9999], [1, 1, 3, 3, 4, 4]),
        # top-p 0.6 of what top-k 2 left: 0.6154 >= 0.6, so id 1 alone
        ({"top_k": 2, "top_p": 0.6}, [0.0, 0.9999], [1, 1]),
        ({"top_p": 1e-9}, [0.0, 0.9999], [1, 1]),
        ({"top_k": 99}, [0.05, 0.9999], [0, 4]),
        ({"temperature": 0.0}, [0.0, 0.9999], [1, 1]),
        # temperature 0.5 squares: 0.01, 0.16, 0.0025, 0.0625, 0.04 over 0.275: cumulative 0.0364, 0.618, 0.627, 0.855
        ({"temperature": 0.5}, [0.0363, 0.0364, 0.618, 0.619, 0.627, 0.628, 0.854, 0.855], [0, 1, 1, 2, 2, 3, 3, 4]),
    ],
)
def test_tokens_by_hand(options, uniforms, tokens):
    assert tokens_at(uniforms, **options)[0] == tokens


@pytest.mark.parametrize(
    ("options", "logprob"),
    [
        ({}, math.log(0.4)),
        ({"top_k": 1}, math.log(0.4)),
        ({"top_p": 0.3}, math.log(0.4)),
        ({"temperature": 0.0}, math.log(0.4)),
        ({"temperature": 0.5, "top_k": 1}, math.log(0.16 / 0.275)),
    ],
)
def test_logprobs_are_over_the_full_vocabulary_at_the_temperature(options, logprob):
    tokens, logprobs = tokens_at([0.3], **options)
    assert tokens == [1]
    assert logprobs[0] == pytest.approx(logprob, abs=2**-25)


def test_rows_with_different_options_do_not_touch_each_other():
    options = [
        SamplingOptions(top_k=1),
        SamplingOptions(),
        SamplingOptions(temperature=0.0),
        SamplingOptions(temperature=0.5, top_p=0.9),
    ]
    logits = torch.tensor(PROBS, dtype=torch.float64).log().repeat(4, 1)
    uniforms = [0.99, 0.99, 0.99, 0.5]
    together = sample_tokens(logits, options, uniforms)
    for r in range(4):
        alone = sample_tokens(logits[r : r + 1], options[r : r + 1], uniforms[r : r + 1])
        assert (together[0][r], together[1][r]) == (alone[0][0], alone[1][0])


def test_a_change_of_the_size_of_batching_noise_does_not_show_in_a_logprob():
    generator = torch.Generator().manual_seed(0)
    logits = 8 * torch.randn(2000, 50, generator=generator, dtype=torch.float64)
    noise = 1e-14 * torch.randn(2000, 50, generator=generator, dtype=torch.float64)
    options = [SamplingOptions()] * 2000
    uniforms = torch.rand(2000, generator=generator, dtype=torch.float64).tolist()
    assert sample_tokens(logits, options, uniforms) == sample_tokens(logits + noise, options, uniforms)


def test_parse_takes_vllm_and_verl_names_and_switched_off_options():
    parsed = SamplingOptions.parse(
        {"temperature": 0.7, "top_k": -1, "stop": "END", "stop_token_ids": [3], "repetition_penalty": 1.0, "seed": None}
    )
    assert parsed == SamplingOptions(temperature=0.7, stop=("END",), stop_token_ids=(3,))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"presence_penalty": 0.5}, "'?presence_penalty"),
        ({"repetition_penalty": 1.1}, "repetition_penalty=1.1"),
        ({"min_p": 0.1}, "min_p"),
        ({"best_of": 4}, "best_of"),
        ({"use_beam_search": True}, "use_beam_search"),
        ({"guided_json": {}}, "'guided_json' is not supported"),
        ({"lora_request": "a"}, "'lora_request' is not supported"),
        ({"temperature": -0.1}, "temperature=-0.1: must be 0, or a number >= 0.001"),
        ({"temperature": float("nan")}, "temperature=nan"),
        ({"temperature": "1"}, "temperature='1'"),
        ({"top_p": 0}, "top_p=0: must be a number in"),
        ({"top_p": 1.5}, "top_p=1.5"),
        ({"top_k": 2.5}, "top_k=2.5"),
        ({"top_k": -2}, "top_k=-2"),
        ({"max_tokens": 0}, "max_tokens=0: must be an integer >= 1"),
        ({"max_tokens": True}, "max_tokens=True"),
        ({"seed": -1}, "seed=-1"),
        ({"stop": [""]}, "stop=.*non-empty"),
        ({"stop": 5}, "stop=5: must be a list"),
        ({"stop_token_ids": ["a"]}, "stop_token_ids=.*token ids"),
        ({"stop_token_ids": 5}, "stop_token_ids=5: must be a list"),
        ({"ignore_eos": 1}, "ignore_eos=1"),
    ],
)
def test_what_is_not_supported_or_out_of_range_is_refused_by_name(options, message):
    with pytest.raises(ConfigError, match=message):
        SamplingOptions.parse(options)
