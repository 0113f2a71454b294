import numpy as np
import pytest

from rdiverse_verl.errors import DataError, StateError
from rdiverse_verl.skills import SkillSpace, calibrate, load_centre, saturation, save_centre


class ThreeWords:
    """A real, if small, encoder: counts of three operators."""

    id, dim, truncated = "three-words", 3, 0

    def encode(self, texts):
        raw_N_D = np.array([[1.0 + text.count(sign) for sign in "+-*"] for text in texts]).reshape(len(texts), 3)
        return (raw_N_D / np.linalg.norm(raw_N_D, axis=1, keepdims=True)).astype(np.float32)


def program(sign, number=1):
    return f"def solver(n1={number}):\n    return n1 {sign} 2"


def test_equal_skill_gives_equal_vectors_and_others_spread_when_centred():
    centre_D = calibrate(ThreeWords(), [program(sign) for sign in "+-*"])
    np.testing.assert_allclose(centre_D, np.full(3, 4 / 3 / np.sqrt(6)), atol=1e-6)
    emb_N_D = SkillSpace(ThreeWords(), centre_D).vectors([program("+", 3), program("+", 99), program("-")])
    np.testing.assert_array_equal(emb_N_D[0], emb_N_D[1])
    # three axes seen from their own centre stand at 120 degrees
    np.testing.assert_allclose(emb_N_D[0] @ emb_N_D[2], -0.5, atol=1e-6)
    raw_N_D = SkillSpace(ThreeWords()).vectors([program("+"), program("-")])
    np.testing.assert_allclose(raw_N_D[0] @ raw_N_D[1], 5 / 6, atol=1e-6)


def test_the_id_covers_encoder_and_centre():
    centre_D = calibrate(ThreeWords(), [program("+"), program("-")])
    ids = {SkillSpace(ThreeWords(), c).id for c in (None, centre_D, centre_D + np.float32(1e-6), np.zeros(3))}
    assert len(ids) == 4
    assert all("three-words" in name for name in ids)
    assert SkillSpace(ThreeWords(), centre_D).id == SkillSpace(ThreeWords(), centre_D.astype(np.float64)).id


def test_a_program_that_is_the_centre_has_no_direction():
    centre_D = calibrate(ThreeWords(), [program("+")])
    with pytest.raises(DataError, match="length 0"):
        SkillSpace(ThreeWords(), centre_D).vectors([program("+")])


def test_no_programs_no_vectors():
    assert SkillSpace(ThreeWords()).vectors([]).shape == (0, 3)
    with pytest.raises(DataError, match="at least one"):
        calibrate(ThreeWords(), [])
    with pytest.raises(DataError, match=r"centre has shape \(4,\)"):
        SkillSpace(ThreeWords(), np.zeros(4))


def test_a_centre_survives_the_disk(tmp_path):
    path, centre_D = tmp_path / "centre.npy", np.array([0.1, 0.2, 0.3], dtype=np.float32)
    digest = save_centre(path, centre_D)
    np.testing.assert_array_equal(load_centre(path, digest), centre_D)
    assert [file.name for file in tmp_path.iterdir()] == ["centre.npy"]
    with pytest.raises(StateError, match="expected abc"):
        load_centre(path, "abc")


def test_a_damaged_centre_is_refused(tmp_path):
    path = tmp_path / "centre.npy"
    for content in (b"", b"text", None):
        if content is not None:
            path.write_bytes(content)
        else:
            save_centre(path, np.ones(384))
            path.write_bytes(path.read_bytes()[:-5])
        with pytest.raises(StateError, match="restore the file"):
            load_centre(path)


def test_saturation_counts_measured_rows_only():
    labels_N = np.array([0, 0, 0, 1, -1, -1])
    found = saturation(labels_N, [0.6, 0.6, 0.4, 0.5, 0, 0], [0.3, 0.3, 0.3, 0.3, 0, 0], tau_max=0.5, tau_mean=0.25)
    assert (found.largest_cluster, found.p_max_above, found.p_mean_above) == (0.75, 0.5, 1.0)
    assert [text.split(":")[0] for text in found.warnings()] == ["100% of the batch has P_mean above tau_mean"]


def test_one_giant_cluster_is_called_out():
    giant = saturation(np.zeros(10, dtype=int), np.zeros(10), np.zeros(10), 0.5, 0.25)
    assert "one skill cluster" in giant.warnings()[0]
    nothing = saturation(np.full(3, -1), np.zeros(3), np.zeros(3), 0.5, 0.25)
    assert (nothing.largest_cluster, nothing.warnings()) == (0.0, [])
