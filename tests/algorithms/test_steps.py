import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdiverse_verl.algorithms.steps import step_cuts
from rdiverse_verl.errors import ConfigError

PAD = ["x"] * 40  # so that the share cap does not bite


def all_cuts(pieces, **options):
    return step_cuts(pieces, **{"min_tokens": 1, "max_cuts": None, **options}).tolist()


@pytest.mark.parametrize("end", [".\n\n", ":\n\n", "$\n", "\n", ".\r\n", "\r\n", "\n\n  ", ".\n"])
def test_a_step_ends_after_the_token_that_holds_the_newline(end):
    assert all_cuts(["Let", " x", end, "So", *PAD]) == [3]


def test_blank_lines_end_one_step_not_several():
    assert all_cuts(["a", "\n", "\n", "b", ".\n", " \r\n", "c", *PAD]) == [3, 6]
    assert all_cuts(["a", "\r", "\n", "b", *PAD]) == [3]


def test_a_response_without_a_newline_has_no_steps():
    assert all_cuts(PAD) == all_cuts([]) == all_cuts(["\n"]) == all_cuts(["x"]) == []


@pytest.mark.parametrize(
    "answer", [["\\boxed", "{3}"], ["\\", "box", "ed", "{3}"], ["</think>"], ["</th", "ink>"], ["Final Answer:"]]
)
def test_no_prefix_reaches_a_final_answer(answer):
    pieces = ["a", ".\n", "b", ".\n", *answer, "\n", "c", "\n", *PAD]
    assert all_cuts(pieces) == [2, 4]


def test_a_token_that_holds_a_newline_and_begins_the_answer_is_left_out():
    assert all_cuts(["a", ".\n", "b", "\n\\boxed", "{3}", "\n", *PAD]) == [2]


def test_no_prefix_is_longer_than_its_share():
    pieces = ["a\n"] * 10
    assert all_cuts(pieces) == list(range(1, 9))
    assert all_cuts(pieces, max_share=0.3) == [1, 2, 3]
    assert all_cuts(pieces, max_share=1.0) == list(range(1, 11))


def test_steps_have_a_least_length_the_first_one_too():
    pieces = ["a\n"] * 20
    assert all_cuts(pieces, min_tokens=5) == [5, 10, 15]
    assert step_cuts(pieces).tolist() == []  # 32 tokens, as released


def test_many_cuts_are_thinned_evenly_and_keep_both_ends():
    cuts = all_cuts(["a\n"] * 100, max_cuts=15)
    assert len(cuts) == 15
    assert (cuts[0], cuts[-1]) == (1, 80)
    assert set(np.diff(cuts)) <= {5, 6}
    assert all_cuts(["a\n"] * 100, max_cuts=1) == [1]


@given(
    st.lists(
        st.sampled_from(["a", " b", "\n", ".\n\n", "\r\n", "", "\\boxed{3}", "\\boxed{}", "</think>", "é"]), max_size=60
    ),
    st.integers(1, 6),
    st.sampled_from([None, 1, 4]),
)
def test_every_cut_keeps_every_rule(pieces, min_tokens, max_cuts):
    cuts = all_cuts(pieces, min_tokens=min_tokens, max_cuts=max_cuts)
    assert max_cuts is None or len(cuts) <= max_cuts
    for before, cut in zip([0, *cuts], cuts, strict=False):
        prefix = "".join(pieces[:cut])
        assert cut - before >= min_tokens
        assert cut <= 0.8 * len(pieces)
        assert "\n" in pieces[cut - 1]
        assert "\\boxed{3}" not in prefix
        assert "</think>" not in prefix


@pytest.mark.parametrize(
    "echo",
    ["I put the answer in \\boxed{}.", "within \\boxed{ }", "in \\boxed{...}", "We need to find the final answer."],
)
def test_an_echo_of_the_task_is_no_answer(echo):
    assert all_cuts([echo, "\n", "step", "\n", *PAD]) == [2, 4]


@pytest.mark.parametrize("options", [{"min_tokens": 0}, {"max_cuts": 0}, {"max_share": 0.0}, {"max_share": 1.1}])
def test_senseless_rules_are_refused(options):
    with pytest.raises(ConfigError):
        step_cuts(PAD, **options)
