import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdiverse_verl.algorithms.groups import group_by_key, group_by_uid, total
from rdiverse_verl.errors import DataError


def test_a_session_counts_by_its_last_output_and_gives_its_value_to_all():
    keys = ["a_1_0", "b_0_0", "a_0_2", "a_0_10", "b_7_0", "a_0_9"]
    groups = group_by_key(keys)
    assert groups.member_G_B.tolist() == [[3, 1], [0, 4]]  # output 10 is later than 2 and 9
    assert groups.final_N.tolist() == [0, 1, 3, 3, 4, 3]
    values_G_B = groups.gather(np.array([10.0, 20, -1, 30, 40, -1]))
    assert groups.scatter(values_G_B).tolist() == [10, 20, 30, 30, 40, 30]


def test_padding_belongs_to_nobody_and_its_key_is_not_read():
    groups = group_by_key(["a_0_0", "padding", "a_1_0", "padding"], [False, True, False, True])
    assert groups.member_G_B.tolist() == [[0], [2]]
    assert groups.scatter(groups.gather(np.ones(4))).tolist() == [1, 0, 1, 0]


def test_a_batch_of_padding_or_of_nothing_has_no_groups():
    assert group_by_key(["x"], [True]).member_G_B.shape[1] == 0
    assert group_by_key([]).scatter(group_by_key([]).gather(np.empty(0))).tolist() == []


def test_ragged_groups_are_filled_with_absent_members():
    groups = group_by_uid(["a", "b", "a", "a"])
    assert groups.size_B.tolist() == [3, 1]
    assert groups.member_G_B.T.tolist() == [[0, 2, 3], [1, -1, -1]]
    assert groups.leader_B.tolist() == [0, 1]


@given(st.permutations(range(9)))
def test_members_are_ordered_by_session_wherever_their_rows_stand(order):
    keys = [f"{uid}_{session}_0" for uid in "abc" for session in (11, 2, 5)]
    groups = group_by_key([keys[row] for row in order])
    members = {tuple(keys[order[row]] for row in column) for column in groups.member_G_B.T}
    assert members == {tuple(f"{uid}_{session}_0" for session in (2, 5, 11)) for uid in "abc"}


@pytest.mark.parametrize("key", ["a_0", "a_x_0", "a_0_x", ""])
def test_a_key_of_another_form_is_named_with_its_row(key):
    with pytest.raises(DataError, match="row 1"):
        group_by_key(["a_0_0", key])


def test_equal_keys_are_refused():
    with pytest.raises(DataError, match="rows 0 and 2 have the same key"):
        group_by_key(["a_0_0", "a_1_0", "a_0_0"])


def test_values_of_another_batch_are_refused():
    with pytest.raises(DataError, match="3 values for a batch of 2"):
        group_by_uid(["a", "a"]).gather(np.ones(3))


def test_restricting_leaves_out_sessions():
    groups = group_by_uid(["a", "b", "a"]).restrict(np.array([True, False, False]))
    assert groups.size_B.tolist() == [1, 0]


def test_a_sum_does_not_depend_on_how_many_groups_stand_beside():
    values_G_B = np.random.default_rng(0).normal(size=(32, 5))
    alone = [total(np.ascontiguousarray(values_G_B[:, b : b + 1]))[0] for b in range(5)]
    np.testing.assert_array_equal(total(values_G_B), alone)
