"""Every script of the step methods' recipes asks verl for what the papers say."""

import os
import re
import subprocess
from pathlib import Path

import pytest
from hydra import compose, initialize_config_dir
from omegaconf import DictConfig, OmegaConf

from rdiverse_verl.verl_plugin.step_checks import refuse_unfit
from rdiverse_verl.verl_plugin.step_methods import read_step_methods

RECIPES = Path(__file__).parents[2] / "recipes"
SCRIPTS = sorted(path for name in ("dra_grpo", "extra") for path in (RECIPES / name).glob("run_*.sh"))
ACTOR = "actor_rollout_ref.actor"

# Table S2 of DRA-GRPO and Table 7 of ExTra
PAPERS = {
    "dra_grpo": {
        f"{ACTOR}.optim.lr": 1e-6,
        f"{ACTOR}.optim.lr_scheduler_type": "cosine",
        f"{ACTOR}.optim.min_lr_ratio": 0.1,
        f"{ACTOR}.optim.lr_warmup_steps_ratio": 0.1,
        f"{ACTOR}.ppo_epochs": 1,
        "trainer.total_training_steps": 500,
        "data.train_batch_size": 8,
        "data.max_prompt_length": 512,
        "data.max_response_length": 3584,
        "actor_rollout_ref.rollout.n": 6,
        "actor_rollout_ref.rollout.temperature": 0.7,
        "actor_rollout_ref.model.path": "deepseek-ai/DeepSeek-R1-Distill-Qwen-1.5B",
        "rdiverse.embedding.encoder": "jina-embeddings-v2-small-en",
    },
    "extra": {
        f"{ACTOR}.optim.lr": 3e-6,
        f"{ACTOR}.use_kl_loss": False,
        f"{ACTOR}.entropy_coeff": 0,
        "algorithm.use_kl_in_reward": False,
        "trainer.total_training_steps": 250,
        "data.train_batch_size": 512,
        "data.max_prompt_length": 2000,
        "data.max_response_length": 4096,
        "actor_rollout_ref.rollout.n": 6,
        "actor_rollout_ref.model.path": "Qwen/Qwen3-1.7B",
    },
}
DR = {
    f"{ACTOR}.loss_agg_mode": "seq-mean-token-sum-norm",
    f"{ACTOR}.loss_scale_factor": 3584,
}
# what each script changes, run by run
VARIANTS = {
    "dra_grpo/run_grpo.sh": [{"algorithm.adv_estimator": "grpo", f"{ACTOR}.loss_agg_mode": "seq-mean-token-mean"}],
    "dra_grpo/run_dr_grpo.sh": [
        DR | {"algorithm.adv_estimator": "grpo", "algorithm.norm_adv_by_std_in_grpo": False, "rdiverse.seed": 42}
    ],
    "dra_grpo/run_dra_grpo.sh": [{"algorithm.adv_estimator": "dra_grpo"}],
    "dra_grpo/run_dra_dr_grpo.sh": [DR | {"algorithm.adv_estimator": "dra_dr_grpo", "rdiverse.seed": 42}],
    "dra_grpo/run_dra_grpo_logdet.sh": [{"algorithm.adv_estimator": "dra_grpo", "rdiverse.dra.kernel": "logdet"}],
    "extra/run_grpo.sh": [{"algorithm.adv_estimator": "grpo"}],
    "extra/run_dapo.sh": [
        {
            "algorithm.adv_estimator": "grpo",
            "algorithm.filter_groups.enable": True,
            f"{ACTOR}.clip_ratio_low": 0.2,
            f"{ACTOR}.clip_ratio_high": 0.28,
            f"{ACTOR}.loss_agg_mode": "token-mean",
        }
    ],
    "extra/run_extra.sh": [{"algorithm.adv_estimator": "extra_grpo"}],
    "extra/run_extra_r.sh": [{"algorithm.adv_estimator": "extra_grpo", "rdiverse.extra.gamma": 0}],
    "extra/run_extra_n.sh": [{"algorithm.adv_estimator": "extra_grpo", "rdiverse.extra.regeneration.enable": False}],
    "extra/run_gamma_sweep.sh": [{"rdiverse.extra.gamma": gamma} for gamma in (0, 0.5, 1.0, 5.0)],
    "extra/run_novelty_signals.sh": [{"rdiverse.extra.novelty": name} for name in ("surprise", "ngram", "embedding")],
    "extra/run_nemotron.sh": [{"actor_rollout_ref.model.path": "nvidia/Nemotron-Research-Reasoning-Qwen-1.5B"}],
}


def configs(script: Path, tmp_path: Path, *arguments: str) -> list[DictConfig]:
    """The configurations that a script would start verl with: its interpreter is replaced by one that only notes."""
    notes = tmp_path / "notes"
    noting = tmp_path / "python"
    noting.write_text(f'#!/usr/bin/env bash\nprintf "%s\\t" "$@" >> "{notes}"\necho >> "{notes}"\n')
    noting.chmod(0o755)
    environment = {**os.environ, "PYTHON": str(noting), "DATA_DIR": "data"}
    subprocess.run(["bash", str(script), *arguments, "trainer.nnodes=3"], env=environment, check=True, cwd=tmp_path)
    composed = []
    for line in notes.read_text().splitlines():
        module, folder, name, *overrides = re.fullmatch(
            r"-m\t(\S+)\t--config-path\t([^\t]+)\t--config-name\t([^\t]+)\t(.*?)\t?", line
        ).groups()
        assert module == "verl.trainer.main_ppo"
        with initialize_config_dir(folder, version_base=None):
            composed.append(compose(name, [one for one in overrides[0].split("\t") if one]))
    return composed


def test_every_script_has_its_row():
    assert {f"{path.parent.name}/{path.name}" for path in SCRIPTS} == set(VARIANTS)


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_a_script_asks_for_the_papers_settings_and_its_variant(script, tmp_path):
    recipe = script.parent.name
    runs = VARIANTS[f"{recipe}/{script.name}"]
    arguments = ["run_extra.sh"] if script.name == "run_nemotron.sh" else []
    for config, variant in zip(configs(script, tmp_path, *arguments), runs, strict=True):
        wanted = PAPERS[recipe] | variant
        assert {key: OmegaConf.select(config, key) for key in wanted} == wanted
        assert config.trainer.nnodes == 3  # what the user adds comes last
        methods = read_step_methods(config)
        refuse_unfit(config, methods)
        if methods.extra:  # the defaults of the block are Table 7's
            extra, regeneration = methods.extra, methods.extra.regeneration
            assert (extra.memory, regeneration.warmup_steps, regeneration.tau) == (6, 30, 0.1)
            assert (regeneration.prefixes_per_prompt, regeneration.queue_size) == (128, 4096)
            assert (extra.gamma, extra.place) == (variant.get("rdiverse.extra.gamma", 1.0), "after")
        if recipe == "extra" and methods.encodes:
            assert OmegaConf.select(config, "rdiverse.embedding.encoder") is None  # MiniLM, the default


def test_no_run_continues_from_anothers_checkpoints(tmp_path):
    """verl resumes whatever it finds under project and experiment name."""
    places = []
    for script in SCRIPTS:
        for arguments in [["run_extra.sh"], ["run_grpo.sh"]] if script.name == "run_nemotron.sh" else [[]]:
            (tmp_path / "notes").unlink(missing_ok=True)
            places += [config.trainer.default_local_dir for config in configs(script, tmp_path, *arguments)]
    assert len(set(places)) == len(places) == 19


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_a_readme_names_every_script_of_its_folder(script):
    assert script.name in (script.parent / "README.md").read_text()


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("method", ["dra", "extra"])
def test_tiny_recipe(method, tmp_path):
    environment = {**os.environ, "RUN_DIR": str(tmp_path)}
    done = subprocess.run(
        ["bash", str(RECIPES / "tiny" / "run.sh"), method, "trainer.total_training_steps=2"],
        env=environment,
        capture_output=True,
        text=True,
        timeout=280,
    )
    assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]
    assert len((tmp_path / "metrics.jsonl").read_text().splitlines()) == 2
    assert (tmp_path / "rollouts" / "2.jsonl").is_file()
