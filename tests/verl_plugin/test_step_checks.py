"""Configurations that are refused at start, with the reason."""

from pathlib import Path

import pytest
from hydra import compose, initialize_config_module
from omegaconf import OmegaConf

from rdiverse_verl.errors import ConfigError
from rdiverse_verl.verl_plugin.settings import Extra
from rdiverse_verl.verl_plugin.step_checks import refuse_unfit
from rdiverse_verl.verl_plugin.step_methods import read_step_methods

FIT = [
    "algorithm.adv_estimator=extra_grpo",
    "reward.reward_manager.name=rdiverse_trajectory",
    "actor_rollout_ref.rollout.agent.default_agent_loop=rdiverse_prefix",
    "actor_rollout_ref.rollout.n=6",
]
DR = ["algorithm.adv_estimator=dra_dr_grpo", "actor_rollout_ref.actor.loss_agg_mode=seq-mean-token-sum-norm"]


def check(*overrides):
    with initialize_config_module("verl.trainer.config", version_base=None):
        config = compose("ppo_trainer", [*FIT, *overrides])
    refuse_unfit(config, read_step_methods(config))


@pytest.mark.parametrize(
    "overrides",
    [
        [],
        [*DR, "actor_rollout_ref.actor.loss_scale_factor=3584"],
        ["algorithm.adv_estimator=dra_extra_grpo"],
        ["algorithm.adv_estimator=grpo", "reward.reward_manager.name=naive", "actor_rollout_ref.rollout.n=1"],
        # without regeneration nothing is lost to filtering
        ["algorithm.filter_groups.enable=True", "+rdiverse.extra.regeneration.enable=False"],
    ],
)
def test_fit(overrides):
    check(*overrides)


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (["algorithm.filter_groups.enable=True"], "drops all-wrong groups"),
        (["algorithm.rollout_correction.bypass_mode=True"], "the entropies of prefixes"),
        (["reward.reward_manager.name=naive"], "reward.reward_manager.name=rdiverse_trajectory, not naive"),
        (
            ["actor_rollout_ref.rollout.agent.default_agent_loop=single_turn_agent"],
            "default_agent_loop=rdiverse_prefix",
        ),
        (["actor_rollout_ref.rollout.multi_turn.enable=True"], "continues a single answer"),
        (["actor_rollout_ref.rollout.n=1"], "rollout.n to 2 or more"),
        (["data.train_batch_size=36"], "per_step=36 guided prompts leave no place"),
        (["reward.reward_model.enable=True"], "enable_resource_pool=True"),
        (["algorithm.adv_estimator=dra_dr_grpo"], "leaves out 1/|o|"),
        (DR, "loss_scale_factor verl divides by the longest response"),
        (
            [DR[1], "algorithm.adv_estimator=dra_grpo", "algorithm.norm_adv_by_std_in_grpo=False"],
            "loss_scale_factor verl divides by the longest response",
        ),
        (["algorithm.adv_estimator=dra_extra_grpo", "algorithm.use_kl_in_reward=True"], "use_kl_loss=True"),
        (["algorithm.adv_estimator=grpo", "+rdiverse.dra.kernel=raw"], "does not use it: choose one of dra_grpo"),
        (["algorithm.adv_estimator=dra_grpo", "+rdiverse.extra.gamma=1"], "rdiverse.extra is given"),
        (["+rdiverse.extra.gama=1"], "unknown key 'extra.gama'"),
        (["+rdiverse.embedding.length=cut"], "embedding.length"),
    ],
)
def test_refused(overrides, message):
    with pytest.raises(ConfigError) as caught:
        check(*overrides)
    assert message in str(caught.value)


def test_the_documented_block_is_fit():
    text = (Path(__file__).parents[2] / "docs" / "step_methods.md").read_text()
    block = OmegaConf.create(text.split("```yaml\n")[1].split("```")[0])
    with initialize_config_module("verl.trainer.config", version_base=None):
        stock = compose("ppo_trainer", ["actor_rollout_ref.rollout.n=6"])
    OmegaConf.set_struct(stock, False)
    config = OmegaConf.merge(stock, block)
    methods = read_step_methods(config)
    refuse_unfit(config, methods)
    assert methods.extra == Extra()  # what it shows are the defaults


def test_all_problems_are_told_at_once():
    with pytest.raises(ConfigError) as caught:
        check("algorithm.filter_groups.enable=True", "actor_rollout_ref.rollout.n=1")
    assert len(str(caught.value).splitlines()) == 2


@pytest.mark.parametrize(("name", "mode"), [("rdiverse_sync", "sync"), ("rdiverse_colocate_async", "colocate_async")])
def test_a_trainer_keeps_the_semantics_of_verls_mode(name, mode):
    from verl.trainer.ppo.v1 import get_trainer_cls

    with initialize_config_module("verl.trainer.config", version_base=None):
        settings = ["algorithm.adv_estimator=grpo", "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=1"]
        ours = compose("ppo_trainer", [*settings, f"trainer.v1.trainer_mode={name}"])
        stock = compose("ppo_trainer", [*settings, f"trainer.v1.trainer_mode={mode}"])
    mine, theirs = get_trainer_cls(name)(ours), get_trainer_cls(mode)(stock)
    assert mine.trainer_mode == mode
    assert type(mine.replay_buffer) is type(theirs.replay_buffer)
    assert mine.parameter_sync_step == theirs.parameter_sync_step
    assert ours.data.gen_batch_size == stock.data.gen_batch_size
