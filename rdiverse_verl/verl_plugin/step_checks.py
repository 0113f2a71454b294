"""Configurations under which a step method would be silently wrong, refused before anything is started."""

from collections.abc import Iterator

from omegaconf import DictConfig

from rdiverse_verl.errors import ConfigError
from rdiverse_verl.verl_plugin.step_methods import ESTIMATORS, StepMethods, normalises_by_std

REWARD_MANAGER = "rdiverse_trajectory"
AGENT_LOOP = "rdiverse_prefix"


def refuse_unfit(config: DictConfig, methods: StepMethods) -> None:
    """Raises ConfigError with one line for each problem."""
    problems = list(_problems(config, methods))
    if problems:
        raise ConfigError("\n".join(problems))


def _problems(config: DictConfig, methods: StepMethods) -> Iterator[str]:
    name = config.algorithm.adv_estimator
    if methods.dra or methods.extra:
        yield from _group_problems(config, name)
    if methods.regenerates:
        yield from _regeneration_problems(config, methods)


def _group_problems(config: DictConfig, name: str) -> Iterator[str]:
    manager = config.reward.reward_manager
    if manager.name != REWARD_MANAGER:
        yield (
            f"algorithm.adv_estimator={name} needs each row's accuracy and vector: set "
            f"reward.reward_manager.name={REWARD_MANAGER}, not {manager.name}"
        )
    served = config.reward.reward_model
    if served.enable and not served.enable_resource_pool:
        yield (
            "a reward model that shares the trainer's devices scores after the rollout, past our reward manager: set "
            "reward.reward_model.enable_resource_pool=True"
        )
    if config.algorithm.use_kl_in_reward:
        yield (
            f"algorithm.use_kl_in_reward puts a penalty into the reward, which {name} would weigh and normalise, "
            "also where all rewards are equal: set it to False and take actor_rollout_ref.actor.use_kl_loss=True"
        )
    if config.actor_rollout_ref.rollout.get("name") == "sglang":
        yield "our agent loops seed each sample under vLLM's name for it, which is not SGLang's: set rollout.name=vllm"
    if config.actor_rollout_ref.rollout.n < 2:
        yield f"{name} compares the answers of a group: set actor_rollout_ref.rollout.n to 2 or more"
    actor = config.actor_rollout_ref.actor
    sums_tokens = actor.loss_agg_mode == "seq-mean-token-sum-norm"
    if ESTIMATORS[name].by_std is False and not sums_tokens:
        yield (
            f"{name} leaves out 1/|o| as Dr. GRPO does: set "
            f"actor_rollout_ref.actor.loss_agg_mode=seq-mean-token-sum-norm, not {actor.loss_agg_mode}"
        )
    if not normalises_by_std(name, config.algorithm) and sums_tokens and actor.loss_scale_factor is None:
        yield (
            "without actor_rollout_ref.actor.loss_scale_factor verl divides by the longest response of each "
            "micro-batch, which is no constant: set it to data.max_response_length"
        )


def _regeneration_problems(config: DictConfig, methods: StepMethods) -> Iterator[str]:
    off = "or rdiverse.extra.regeneration.enable=False"
    filter_groups = config.algorithm.get("filter_groups")
    if filter_groups and filter_groups.get("enable"):
        yield (
            "algorithm.filter_groups drops all-wrong groups before the trainer sees them, and regeneration starts from "
            f"those: set algorithm.filter_groups.enable=False, {off}"
        )
    correction = config.algorithm.get("rollout_correction")
    if correction and correction.get("bypass_mode"):
        yield (
            "algorithm.rollout_correction.bypass_mode leaves out the forward pass that the entropies of prefixes come "
            f"from: set it to False, {off}"
        )
    rollout = config.actor_rollout_ref.rollout
    if rollout.agent.default_agent_loop != AGENT_LOOP:
        yield (
            f"prefixes need actor_rollout_ref.rollout.agent.default_agent_loop={AGENT_LOOP}, "
            f"not {rollout.agent.default_agent_loop}, {off}"
        )
    if rollout.multi_turn.enable:
        yield f"a prefix continues a single answer: set actor_rollout_ref.rollout.multi_turn.enable=False, {off}"
    per_step = methods.extra.regeneration.per_step if methods.extra else 0
    if per_step >= config.data.train_batch_size:
        yield (
            f"rdiverse.extra.regeneration.per_step={per_step} guided prompts leave no place for others in a batch of "
            f"data.train_batch_size={config.data.train_batch_size}"
        )
