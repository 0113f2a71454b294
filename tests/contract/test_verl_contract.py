"""Everything of verl 0.9.1 that this package reaches for: symbols, signatures, registries and config keys.

One row each. A row that fails after a change of verl's version names what to look at before anything is run.
"""

import ast
import importlib
import inspect
from functools import reduce
from pathlib import Path

import pytest

import rdiverse_verl

# module, attribute, parameters that we pass or override (None: the attribute only has to exist)
SYMBOLS = [
    ("verl.plugin.platform", "PlatformBase", None),
    ("verl.plugin.platform", "PlatformRegistry.register", ["platform"]),
    ("verl.utils.config", "validate_config", ["config", "use_reference_policy", "use_critic"]),
    ("verl.utils.distributed", "initialize_global_process_group_ray", ["timeout_second", "backend"]),
    ("verl.workers.engine", "FSDPEngineWithLMHead", None),
    ("verl.workers.engine", "EngineRegistry.register", ["model_type", "backend", "device"]),
    ("verl.workers.engine.fsdp.transformer_impl", "CPUOffloadPolicy", None),
    ("verl.workers.rollout.base", "_ROLLOUT_REGISTRY", None),
    ("verl.workers.rollout.base", "BaseRollout.__init__", ["config", "model_config", "device_mesh"]),
    ("verl.workers.rollout.base", "BaseRollout.update_weights", ["weights", "wire_format"]),
    ("verl.workers.rollout.base", "BaseRollout.resume", ["tags"]),
    ("verl.workers.rollout.base", "BaseRollout.release", []),
    ("verl.workers.rollout.replica", "RolloutReplicaRegistry.register", ["name", "loader"]),
    ("verl.workers.rollout.replica", "RolloutMode.COLOCATED", None),
    ("verl.workers.rollout.replica", "RolloutReplica.init_colocated", ["resource_pool"]),
    ("verl.workers.rollout.replica", "RolloutReplica.launch_servers", []),
    ("verl.workers.rollout.replica", "RolloutReplica.max_concurrency", None),
    ("verl.workers.rollout.router", "get_router_handle", ["servers", "router_config_path"]),
    ("verl.workers.rollout.utils", "ensure_async_iterator", ["iterable"]),
    ("verl.checkpoint_engine.base", "CheckpointEngine.receive_weights", ["global_steps"]),
    ("verl.checkpoint_engine.base", "CheckpointEngine.send_weights", ["weights", "global_steps"]),
    ("verl.checkpoint_engine.base", "CheckpointEngineRegistry.register", ["backend"]),
    ("verl.utils.fsdp_utils", "fsdp2_sharded_save_to_cpu", ["model"]),
    ("verl.trainer.ppo.v1.replay_buffer", "ReplayBuffer.__init__", ["poll_interval"]),
    ("ray._private.workers.default_worker", "parser", None),
    # self-play's trainers, agent loop and reward manager
    ("verl", "DataProto.__getitem__", ["item"]),
    ("verl.trainer.ppo.v1.trainer_base", "register_trainer", ["name"]),
    ("verl.trainer.ppo.v1.trainer_base", "TRAINER_REGISTRY", None),
    ("verl.trainer.ppo.v1.trainer_sync", "PPOTrainerSync.__init__", ["config"]),
    ("verl.trainer.ppo.v1.trainer_sync", "PPOTrainerSync._next_train_batch", ["num_prompts"]),
    ("verl.trainer.ppo.v1.trainer_sync", "PPOTrainerSync._balance_batch", ["batch", "metrics"]),
    ("verl.trainer.ppo.v1.trainer_sync", "PPOTrainerSync._dump_generations", ["reward_extra_infos_dict"]),
    ("verl.experimental.agent_loop.agent_loop", "AgentLoopOutput", None),
    ("verl.experimental.agent_loop.agent_loop", "register", ["agent_name"]),
    ("verl.experimental.agent_loop.agent_loop", "_agent_loop_registry", None),
    (
        "verl.experimental.agent_loop.single_turn_agent_loop",
        "SingleTurnAgentLoop.run",
        ["sampling_params", "priority", "kwargs"],
    ),
    ("verl.experimental.reward_loop.reward_manager", "register", ["name"]),
    ("verl.experimental.reward_loop.reward_manager.registry", "REWARD_MANAGER", None),
    (
        "verl.experimental.reward_loop.reward_manager.base",
        "RewardManagerBase.__init__",
        ["config", "tokenizer", "compute_score"],
    ),
    ("verl.experimental.reward_loop.reward_manager.base", "RewardManagerBase.run_single", ["data"]),
    ("verl.single_controller.ray", "RayResourcePool", None),
    ("verl.utils.tensordict_utils", "assign_non_tensor_stack", ["tensor_dict", "key", "val"]),
    ("verl.trainer.main_ppo", "main", None),
    # the step methods
    ("verl.experimental.reward_loop.reward_manager.naive", "NaiveRewardManager.run_single", ["data"]),
    ("verl.trainer.ppo.core_algos", "register_adv_est", ["name_or_enum"]),
    ("verl.trainer.ppo.v1.trainer_colocate_async", "PPOTrainerColocateAsync", None),
    ("verl.trainer.ppo.v1.trainer_separate_async", "PPOTrainerSeparateAsync", None),
]

# key, verl's default where we rely on it (...: any)
CONFIG_KEYS = [
    ("trainer.use_v1", True),
    ("trainer.v1.trainer_mode", "sync"),
    ("trainer.device", ...),
    ("trainer.nnodes", ...),
    ("trainer.n_gpus_per_node", ...),
    ("data.dataloader_num_workers", ...),
    ("actor_rollout_ref.model.override_config", ...),
    ("actor_rollout_ref.model.use_remove_padding", ...),
    ("actor_rollout_ref.model.enable_gradient_checkpointing", ...),
    ("actor_rollout_ref.model.use_fused_kernels", False),
    ("actor_rollout_ref.model.use_liger", False),
    ("actor_rollout_ref.model.lora_rank", 0),
    ("actor_rollout_ref.model.lora.rank", 0),
    ("actor_rollout_ref.actor.strategy", ...),
    ("actor_rollout_ref.actor.use_torch_compile", ...),
    ("actor_rollout_ref.actor.fsdp_config.strategy", ...),
    ("actor_rollout_ref.actor.fsdp_config.use_torch_compile", ...),
    ("actor_rollout_ref.actor.fsdp_config.model_dtype", ...),
    ("actor_rollout_ref.actor.qat.enable", False),
    ("actor_rollout_ref.actor.checkpoint.save_contents", ["model", "optimizer", "extra"]),
    ("actor_rollout_ref.ref.strategy", ...),
    ("actor_rollout_ref.ref.use_torch_compile", ...),
    ("actor_rollout_ref.ref.fsdp_config.strategy", ...),
    ("actor_rollout_ref.rollout.mode", "async"),
    ("actor_rollout_ref.rollout.dtype", ...),
    ("actor_rollout_ref.rollout.seed", ...),
    ("actor_rollout_ref.rollout.free_cache_engine", ...),
    ("actor_rollout_ref.rollout.tensor_model_parallel_size", ...),
    ("actor_rollout_ref.rollout.data_parallel_size", 1),
    ("actor_rollout_ref.rollout.pipeline_model_parallel_size", 1),
    ("actor_rollout_ref.rollout.expert_parallel_size", 1),
    ("actor_rollout_ref.rollout.quantization", None),
    ("actor_rollout_ref.rollout.disaggregation.enabled", False),
    ("actor_rollout_ref.rollout.enable_rollout_routing_replay", False),
    ("actor_rollout_ref.rollout.checkpoint_engine.backend", "naive"),
    ("actor_rollout_ref.rollout.nnodes", 0),
    ("actor_rollout_ref.rollout.n_gpus_per_node", ...),
    ("actor_rollout_ref.hybrid_engine", True),
    ("trainer.v1.separate_async.parameter_sync_step", ...),
    ("actor_rollout_ref.rollout.prometheus.enable", False),
    ("actor_rollout_ref.rollout.router_config_path", None),
    ("actor_rollout_ref.rollout.calculate_log_probs", True),
    ("actor_rollout_ref.rollout.agent.num_workers", ...),
    ("actor_rollout_ref.rollout.max_num_seqs", ...),
    ("reward.num_workers", ...),
    ("reward.custom_reward_function.path", None),
    ("reward.reward_model.enable", False),
    ("reward.reward_model.enable_resource_pool", False),
    ("reward.reward_model.model_path", None),
    ("reward.reward_model.n_gpus_per_node", ...),
    ("reward.reward_model.nnodes", ...),
    ("reward.reward_model.rollout.prompt_length", ...),
    ("reward.reward_model.rollout.response_length", ...),
    ("transfer_queue.backend.SimpleStorage.num_data_storage_units", ...),
    ("algorithm.adv_estimator", ...),
    ("data.train_files", ...),
    ("data.val_files", ...),
    ("data.train_batch_size", ...),
    ("data.max_prompt_length", ...),
    ("data.max_response_length", ...),
    ("data.truncation", "error"),
    ("data.seed", None),
    ("actor_rollout_ref.actor.ppo_mini_batch_size", ...),
    ("actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu", ...),
    ("actor_rollout_ref.actor.use_kl_loss", ...),
    ("actor_rollout_ref.actor.kl_loss_coef", ...),
    ("actor_rollout_ref.actor.kl_loss_type", ...),
    ("actor_rollout_ref.actor.clip_ratio_low", ...),
    ("actor_rollout_ref.actor.clip_ratio_high", ...),
    ("actor_rollout_ref.actor.clip_ratio_c", 3.0),
    ("actor_rollout_ref.actor.optim.lr", ...),
    ("actor_rollout_ref.actor.optim.weight_decay", ...),
    ("actor_rollout_ref.ref.log_prob_micro_batch_size_per_gpu", ...),
    ("actor_rollout_ref.rollout.log_prob_micro_batch_size_per_gpu", ...),
    ("actor_rollout_ref.rollout.n", ...),
    ("actor_rollout_ref.rollout.temperature", ...),
    ("actor_rollout_ref.rollout.top_p", ...),
    ("actor_rollout_ref.rollout.agent.default_agent_loop", ...),
    ("reward.custom_reward_function.name", ...),
    ("reward.reward_manager.name", ...),
    ("trainer.total_training_steps", ...),
    ("trainer.total_epochs", ...),
    ("trainer.save_freq", ...),
    ("trainer.max_actor_ckpt_to_keep", None),
    ("trainer.test_freq", ...),
    ("trainer.val_before_train", ...),
    ("trainer.logger", ...),
    ("trainer.default_local_dir", ...),
    ("trainer.rollout_data_dir", None),
    ("trainer.resume_mode", "auto"),
    ("ray_kwargs.ray_init.num_cpus", ...),
    ("ray_kwargs.ray_init.runtime_env.py_executable", None),
]


@pytest.mark.parametrize(("module", "attribute", "parameters"), SYMBOLS)
def test_symbol(module, attribute, parameters):
    found = reduce(getattr, attribute.split("."), importlib.import_module(module))
    if parameters is not None:
        missing = set(parameters) - set(inspect.signature(found).parameters)
        assert not missing, f"{module}.{attribute} no longer takes {sorted(missing)}"


@pytest.fixture(scope="module")
def verl_config():
    from hydra import compose, initialize_config_module

    with initialize_config_module("verl.trainer.config", version_base=None):
        return compose("ppo_trainer")


@pytest.mark.parametrize(("key", "default"), CONFIG_KEYS, ids=[key for key, _ in CONFIG_KEYS])
def test_config_key(verl_config, key, default):
    parent, _, name = key.rpartition(".")
    section = reduce(lambda node, part: node[part], parent.split("."), verl_config)
    assert name in section, f"verl has no key {key}"
    if default is not ...:
        assert section[name] == default


def test_version():
    assert importlib.import_module("verl").__version__ == "0.9.1"


def test_platform_answers_everything_verl_asks_of_one():
    from verl.plugin.platform import PlatformBase

    from rdiverse_verl.cpu.platform import CpuPlatform

    assert CpuPlatform.__abstractmethods__ == frozenset()
    for name, member in inspect.getmembers(PlatformBase, inspect.isfunction):
        if name in vars(CpuPlatform) and not name.startswith("_"):
            ours = inspect.signature(getattr(CpuPlatform, name))
            assert list(ours.parameters) == list(inspect.signature(member).parameters), name


def test_reply_has_the_fields_of_verls_token_output():
    from dataclasses import fields

    from verl.workers.rollout.replica import TokenOutput

    from rdiverse_verl.cpu.rollout_server import TokenOutput as Ours

    assert {field.name for field in fields(Ours)} == set(TokenOutput.model_fields)


def test_server_has_every_method_that_a_replica_calls():
    from verl.workers.rollout.replica import RolloutReplica

    from rdiverse_verl.cpu.rollout_server import TransformersServer

    called = [name for name in vars(RolloutReplica) if f"server.{name}.remote" in inspect.getsource(RolloutReplica)]
    assert len(called) >= 8
    assert [name for name in called if not hasattr(TransformersServer, name)] == []


def test_verls_own_log_line_still_ends_a_run_without_hybrid_replicas():
    """When this fails, the check of ``actor_rollout_ref.hybrid_engine`` in cpu/config_check.py can go."""
    from verl.trainer.ppo.v1.trainer_separate_async import PPOTrainerSeparateAsync

    assert "flush=True" in inspect.getsource(PPOTrainerSeparateAsync._setup)


def test_router_has_every_method_of_verls_protocol():
    from verl.workers.rollout.router import RequestLoadBalancer

    from rdiverse_verl.cpu.router import LeastLoadedRouter

    methods = [name for name, _ in inspect.getmembers(RequestLoadBalancer, inspect.isfunction) if name[0] != "_"]
    assert len(methods) >= 8
    assert [name for name in methods if not hasattr(LeastLoadedRouter, name)] == []


def test_every_import_from_verl_has_a_row():
    known = {(module, attribute.split(".")[0]) for module, attribute, _ in SYMBOLS}
    imported = set()
    for path in Path(rdiverse_verl.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "verl":
                imported |= {(node.module, alias.name) for alias in node.names}
    modules = {module for module, _ in known}
    missing = [(module, name) for module, name in imported - known if f"{module}.{name}" not in modules]
    assert not missing, f"add a row for {sorted(missing)}"
