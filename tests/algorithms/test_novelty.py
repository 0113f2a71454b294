import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdiverse_verl.algorithms.answer_memory import AnswerMemory
from rdiverse_verl.algorithms.groups import group_by_key, group_by_uid
from rdiverse_verl.algorithms.ngram_novelty import ngram_novelty
from rdiverse_verl.algorithms.novelty import embedding_novelty
from rdiverse_verl.algorithms.novelty_bonus import advantages_with_novelty
from rdiverse_verl.algorithms.surprise_novelty import surprise_novelty
from rdiverse_verl.errors import ConfigError, DataError


def novelty(emb_N_D, correct_N, groups, memory=(), has_vector_N=None, **options):
    """Novelty with one list of remembered vectors a group."""
    emb_N_D = np.asarray(emb_N_D)
    remembered = AnswerMemory()
    for b, vectors in enumerate(memory):
        remembered.add(str(b), vectors)
    memory_B_M_D, known_B_M = remembered.vectors([str(b) for b in range(len(groups.leader_B))], emb_N_D.shape[1])
    has_vector_N = np.ones(len(emb_N_D), dtype=bool) if has_vector_N is None else np.array(has_vector_N, dtype=bool)
    return embedding_novelty(
        emb_N_D, np.array(correct_N, dtype=bool), has_vector_N, groups, memory_B_M_D, known_B_M, **options
    )


def one_by_one(emb_N_D, correct_N, uids, memory):
    result = []
    for i, uid in enumerate(uids):
        siblings = [emb_N_D[j] for j in range(len(uids)) if uids[j] == uid and j != i and correct_N[j]]
        pool = [*siblings, *memory.get(uid, [])]
        nearest = max((min(max(float(emb_N_D[i] @ z), 0), 1) for z in pool), default=0.0)
        result.append((1 - nearest) if correct_N[i] else 0.0)
    return result


def test_by_hand(on_circle):
    """Angles 0 and 60 correct, 0 wrong, memory at 90 degrees (ExTra, Alg. 1 l. 11-12)."""
    found = novelty(on_circle(0, 60, 0), [1, 1, 0], group_by_uid("aaa"), [on_circle(90)])
    np.testing.assert_allclose(found, [1 - 0.5, 1 - np.sqrt(3) / 2, 0], atol=1e-6)


def test_wrong_siblings_are_no_neighbours(on_circle):
    found = novelty(on_circle(0, 0, 180), [1, 0, 0], group_by_uid("aaa"))
    assert found.tolist() == [1, 0, 0]


def test_opposite_answers_are_not_more_than_new(on_circle):
    assert novelty(on_circle(0, 180), [1, 1], group_by_uid("aa")).tolist() == [1, 1]


def test_equal_answers_are_not_new_at_all(unit_rows):
    found = novelty(np.repeat(unit_rows(1, 384), 6, axis=0), [1] * 6, group_by_uid("aaaaaa"))
    np.testing.assert_allclose(found, 0, atol=1e-6)


def test_the_value_of_an_empty_pool_is_a_knob(on_circle):
    groups = group_by_uid("aab")
    found = novelty(on_circle(0, 45, 0), [1, 0, 1], groups, [[], on_circle(0)], empty_pool_value=0.25)
    np.testing.assert_allclose(found, [0.25, 0, 0], atol=1e-6)


def test_agrees_with_a_slow_loop(answers_of_prompts):
    keys, emb_N_D, reward_N = answers_of_prompts([6, 1, 32, 3, 6], dim=384)
    memory = {f"p{prompt}": emb_N_D[prompt : prompt + prompt] for prompt in range(5)}
    found = novelty(emb_N_D, reward_N > 0, group_by_key(keys), list(memory.values()))
    slow = one_by_one(emb_N_D, reward_N > 0, [key.split("_")[0] for key in keys], memory)
    np.testing.assert_allclose(found, slow, atol=1e-4)  # the memory keeps float16


def test_row_order_sharding_and_other_prompts_change_nothing(answers_of_prompts):
    keys, emb_N_D, reward_N = answers_of_prompts([6, 1, 32, 3, 6], dim=384)
    correct_N = reward_N > 0
    whole = novelty(emb_N_D, correct_N, group_by_key(keys))
    order = np.random.default_rng(4).permutation(len(keys))
    shuffled = novelty(emb_N_D[order], correct_N[order], group_by_key([keys[row] for row in order]))
    np.testing.assert_array_equal(shuffled, whole[order])
    for prompt in range(5):
        own = [row for row, key in enumerate(keys) if key.startswith(f"p{prompt}_")]
        alone = novelty(emb_N_D[own], correct_N[own], group_by_key([keys[row] for row in own]))
        np.testing.assert_array_equal(alone, whole[own])


def test_only_correct_rows_with_a_vector_are_read(on_circle):
    emb_N_D = np.concatenate([on_circle(0), np.full((2, 2), np.nan)])
    assert novelty(emb_N_D, [1, 1, 0], group_by_uid("aaa"), has_vector_N=[1, 0, 1]).tolist() == [1, 0, 0]
    with pytest.raises(DataError, match="has length"):
        novelty(emb_N_D, [1, 1, 0], group_by_uid("aaa"))


@given(st.lists(st.tuples(st.integers(0, 5), st.booleans()), max_size=12))
def test_novelty_counts_newly_covered_modes(trajectories):
    """ExTra, Prop. A.2: with orthogonal modes, r_int = C(memory after) - C(memory before), one trajectory at a time."""
    mode_V_D, memory, covered = np.eye(6), AnswerMemory(per_root=12), set()
    for mode, correct in trajectories:
        memory_B_M_D, known_B_M = memory.vectors(["x"], 6)
        emb_1_D = mode_V_D[mode : mode + 1]
        found = embedding_novelty(
            emb_1_D, np.array([correct]), np.ones(1, dtype=bool), group_by_uid("x"), memory_B_M_D, known_B_M
        )
        before = len(covered)
        if correct:
            covered.add(mode)
            memory.add("x", emb_1_D)
        assert found[0] == len(covered) - before


def test_after_normalisation_the_bonus_is_worth_the_same_everywhere():
    """ExTra, App. E.2: an all-correct, a mixed and an all-wrong group."""
    groups = group_by_uid("aaabbbccc")
    reward_N, bonus_N = [1, 1, 1, 1, 0, 0, 0, 0, 0], np.array([1, 0.5, 0, 0.5, 0, 0, 0, 0, 0])
    advantage = advantages_with_novelty(reward_N, bonus_N, groups, gamma=2, eps=0)
    mixed = np.array([2 / 3, -1 / 3, -1 / 3]) * np.sqrt(3) + [1, 0, 0]
    np.testing.assert_allclose(advantage, [2, 1, 0, *mixed, 0, 0, 0], rtol=1e-12)


@given(st.lists(st.tuples(st.booleans(), st.floats(0, 1)), min_size=2, max_size=12), st.floats(0, 10))
def test_no_correct_answer_is_ranked_below_a_wrong_one(answers, gamma):
    """ExTra, App. E.2, first property."""
    correct_N = np.array([correct for correct, _ in answers])
    bonus_N = np.array([bonus for _, bonus in answers]) * correct_N
    groups = group_by_uid(["a"] * len(answers))
    advantage = advantages_with_novelty(correct_N.astype(float), bonus_N, groups, gamma=gamma)
    if correct_N.any() and not correct_N.all():
        assert advantage[correct_N].min() > advantage[~correct_N].max()
    if not correct_N.any():
        assert not advantage.any()


def test_before_normalisation_gamma_cancels_in_a_group_of_correct_answers():
    """ExTra, App. D.1: and five of six correct answers are punished."""
    groups, bonus_N = group_by_uid("aaaaaa"), np.array([1, 0.1, 0, 0.02, 0.05, 0.03])
    strong, weak = (advantages_with_novelty(np.ones(6), bonus_N, groups, gamma=g, place="before") for g in (1, 0.01))
    np.testing.assert_allclose(strong, weak, rtol=1e-3)
    assert (strong < 0).sum() == 5
    deviation = bonus_N - bonus_N.mean()
    np.testing.assert_allclose(strong, deviation / (bonus_N.std(ddof=1) + 1e-6), rtol=1e-9)


def test_padding_has_no_advantage():
    groups = group_by_key(["a_0_0", "x", "a_1_0"], [False, True, False])
    bonus_N = np.array([0.5, 0, 0.25])
    assert advantages_with_novelty([1, 1, 1], bonus_N, groups, gamma=1).tolist() == [0.5, 0, 0.25]


def test_bad_bonuses_are_refused():
    groups = group_by_uid("aa")
    with pytest.raises(DataError, match="row 1"):
        advantages_with_novelty([1, 1], [0, np.nan], groups, gamma=1)
    with pytest.raises(ConfigError, match="-1"):
        advantages_with_novelty([1, 1], [0, 0], groups, gamma=-1)
    with pytest.raises(ConfigError, match="after"):
        advantages_with_novelty([1, 1], [0, 0], groups, gamma=1, place="post")


def test_ngrams_by_hand():
    """Bigrams ab, bc against bc, cd: bc is shared once; the memory has cd twice."""
    tokens = [np.array([1, 2, 3]), np.array([2, 3, 4]), np.array([2, 3])]
    groups = group_by_uid("aaa")
    found = ngram_novelty(tokens, [True, True, False], groups, [[np.array([3, 4, 3, 4])]], n=2)
    shared, thrice = 1 / np.sqrt(2), 1 / np.sqrt(3)
    np.testing.assert_allclose(found, [(1 + shared) / 2, (shared + thrice) / 2, 0])


def test_an_answer_is_not_its_own_precedent():
    assert ngram_novelty([np.array([7] * 9)], [True], group_by_uid("a"), [[]]).tolist() == [1]


def test_answers_shorter_than_the_ngrams_earn_nothing():
    tokens = [np.array([], dtype=int), np.array([1, 2, 3]), np.array([1, 2, 3, 4])]
    assert ngram_novelty(tokens, [True] * 3, group_by_uid("aaa"), [[]], n=4).tolist() == [0, 0, 1]
    with pytest.raises(ConfigError):
        ngram_novelty(tokens, [True] * 3, group_by_uid("aaa"), [[]], n=0)


def test_surprise_by_hand():
    """Log-probabilities -1, -2, -3 of correct answers: z = -1, 0, 1; the wrong one and the lonely one earn nothing."""
    found = surprise_novelty([-1.0, -2.0, -3.0, -90.0, -5.0], [1, 1, 1, 0, 1], group_by_uid("aaaab"))
    np.testing.assert_allclose(found, [0, 0, 1, 0, 0], atol=1e-7)


def test_equally_likely_answers_are_no_surprise():
    assert surprise_novelty([-0.3] * 6, [True] * 6, group_by_uid("aaaaaa")).tolist() == [0] * 6
