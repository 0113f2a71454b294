from rdiverse_verl.algorithms.groups import group_by_key, group_by_uid
from rdiverse_verl.algorithms.hard_groups import hard_groups


def test_hard_is_no_success_at_all_over_enough_sessions():
    groups = group_by_uid("aabbcddd")
    assert hard_groups([0, 0, 0, 1, 0, 0, 0, 0], groups).tolist() == [True, False, False, True]
    assert hard_groups([0, 0, 0, 1, 0, 0, 0, 0], groups, min_sessions=3).tolist() == [False, False, False, True]


def test_padding_is_never_hard_and_only_last_outputs_count():
    keys = ["a_0_0", "a_0_1", "a_1_0", "pad", "pad"]
    groups = group_by_key(keys, [False, False, False, True, True])
    assert hard_groups([True, False, False, False, False], groups).tolist() == [True]
    assert hard_groups([False, True, False, False, False], groups).tolist() == [False]
