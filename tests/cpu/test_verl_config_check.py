"""Options that the CPU path does not have are refused by name, before any process starts."""

import subprocess
import sys

import pytest
from omegaconf import OmegaConf

from rdiverse_verl.cpu.config_check import check_config
from rdiverse_verl.cpu.overrides import cpu_environment, cpu_overrides, hydra_arguments
from rdiverse_verl.errors import ConfigError


@pytest.fixture
def config(random_model):
    """verl's own defaults with the CPU's differences and a model."""
    from hydra import compose, initialize_config_module

    arguments = hydra_arguments(cpu_overrides())
    arguments += [f"actor_rollout_ref.model.path={random_model}", "algorithm.adv_estimator=grpo"]
    with initialize_config_module("verl.trainer.config", version_base=None):
        return compose("ppo_trainer", arguments)


@pytest.fixture
def separate(random_model):
    """verl's defaults in the mode ``separate_async``, with one rank and two standalone replicas."""
    from hydra import compose, initialize_config_module

    arguments = hydra_arguments(cpu_overrides(standalone_gpus=2))
    arguments += [f"actor_rollout_ref.model.path={random_model}", "algorithm.adv_estimator=grpo"]
    arguments += ["trainer.v1.trainer_mode=separate_async", "data.train_batch_size=1024"]
    with initialize_config_module("verl.trainer.config", version_base=None):
        return compose("ppo_trainer", arguments)


def test_the_overrides_pass(config, separate):
    check_config(config)
    check_config(separate)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"actor_rollout_ref.rollout.checkpoint_engine.backend": "naive"}, "backend=naive: .* set it to local_file"),
        ({"actor_rollout_ref.rollout.nnodes": 0}, "nnodes=0 and .n_gpus_per_node=2"),
        ({"actor_rollout_ref.rollout.nnodes": 2}, "nnodes=2"),
        ({"actor_rollout_ref.rollout.n_gpus_per_node": 0}, "n_gpus_per_node=0"),
        (
            {"data.train_batch_size": 1000},
            "=1000.*parameter_sync_step=4 times .*ppo_mini_batch_size=256",
        ),
        ({"ray_kwargs.ray_init.num_gpus": 2}, "num_gpus=2: 1 of the trainer, 2 standalone replicas and 0 .* need 3"),
        ({"actor_rollout_ref.hybrid_engine": False}, "hybrid_engine=False.*VERL_LOGGING_LEVEL=WARNING"),
    ],
)
@pytest.mark.parametrize("mode", ["separate_async", "rdiverse_separate_async"])
def test_what_separate_async_needs_is_named(separate, monkeypatch, mode, changes, message):
    monkeypatch.delenv("VERL_LOGGING_LEVEL", raising=False)
    OmegaConf.update(separate, "trainer.v1.trainer_mode", mode)
    for key, value in changes.items():
        OmegaConf.update(separate, key, value)
    with pytest.raises(ConfigError, match=message):
        check_config(separate)


def test_without_verls_info_messages_hybrid_replicas_can_be_off(separate, monkeypatch):
    monkeypatch.setenv("VERL_LOGGING_LEVEL", "WARNING")
    OmegaConf.update(separate, "actor_rollout_ref.hybrid_engine", False)
    check_config(separate)


def test_a_transfer_that_nobody_would_use_is_refused(separate):
    OmegaConf.update(separate, "trainer.v1.trainer_mode", "sync")
    with pytest.raises(ConfigError, match="mode sync has no standalone replicas; set it to naive"):
        check_config(separate)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("actor_rollout_ref.model.lora_rank", 8),
        ("actor_rollout_ref.model.lora.rank", 8),
        ("actor_rollout_ref.model.use_remove_padding", True),
        ("actor_rollout_ref.model.override_config.attn_implementation", "flash_attention_2"),
        ("actor_rollout_ref.actor.strategy", "megatron"),
        ("actor_rollout_ref.rollout.tensor_model_parallel_size", 2),
        ("actor_rollout_ref.rollout.quantization", "fp8"),
        ("actor_rollout_ref.rollout.disaggregation.enabled", True),
        ("actor_rollout_ref.rollout.checkpoint_engine.backend", "nccl"),
        ("critic.enable", True),
        ("actor_rollout_ref.model.path", "/no/such/folder"),
    ],
)
def test_unsupported_option_is_refused_by_name(config, key, value):
    OmegaConf.update(config, key, value, force_add=True)
    with pytest.raises(ConfigError, match=key.split(".")[0]) as caught:
        check_config(config)
    assert key.rpartition(".")[2] in str(caught.value) or key == "critic.enable"


def test_tokenizer_without_chat_template_is_refused(config, tmp_path, make_tokenizer):
    (tmp_path / "config.json").write_text("{}")
    make_tokenizer(chat_template=None).save_pretrained(tmp_path)
    OmegaConf.update(config, "actor_rollout_ref.model.path", str(tmp_path))
    with pytest.raises(ConfigError, match="chat template"):
        check_config(config)


def test_served_model_needs_a_reward_function(config, random_model):
    OmegaConf.update(config, "reward.reward_model.enable", True)
    OmegaConf.update(config, "reward.reward_model.model_path", str(random_model))
    with pytest.raises(ConfigError, match=r"reward\.custom_reward_function\.path"):
        check_config(config)


@pytest.mark.slow
def test_verls_own_command_stops_before_ray(random_model, tmp_path):
    command = [sys.executable, "-m", "verl.trainer.main_ppo", *hydra_arguments(cpu_overrides())]
    command += ["algorithm.adv_estimator=grpo", f"actor_rollout_ref.model.path={random_model}"]
    command += ["actor_rollout_ref.model.lora_rank=8"]
    environment = {**cpu_environment(), "HOME": str(tmp_path)}
    child = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=tmp_path, timeout=120)
    assert child.returncode == 1
    assert "ConfigError: actor_rollout_ref.model.lora_rank=8" in child.stderr
    assert "Started a local Ray instance" not in child.stdout + child.stderr
