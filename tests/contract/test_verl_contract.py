"""Everything of verl 0.9.1 that this package reaches for: symbols, signatures, registries and config keys.

One row each. A row that fails after a change of verl's version names what to look at before anything is run.
"""

import importlib
import inspect
from functools import reduce

import pytest

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
    ("verl.trainer.ppo.v1.replay_buffer", "ReplayBuffer.__init__", ["poll_interval"]),
    ("ray._private.workers.default_worker", "parser", None),
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


def test_router_has_every_method_of_verls_protocol():
    from verl.workers.rollout.router import RequestLoadBalancer

    from rdiverse_verl.cpu.router import LeastLoadedRouter

    methods = [name for name, _ in inspect.getmembers(RequestLoadBalancer, inspect.isfunction) if name[0] != "_"]
    assert len(methods) >= 8
    assert [name for name in methods if not hasattr(LeastLoadedRouter, name)] == []
