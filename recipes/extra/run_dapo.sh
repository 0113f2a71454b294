#!/usr/bin/env bash
# The DAPO baseline (Table 1): dynamic sampling, a higher upper clip, a penalty near the length limit. Arguments are verl's: key=value ...
set -euo pipefail
exec "${PYTHON:-python}" -m verl.trainer.main_ppo \
    --config-path "$(cd "$(dirname "$0")" && pwd)" --config-name config \
    trainer.experiment_name=dapo \
    algorithm.adv_estimator=grpo \
    algorithm.filter_groups.enable=True \
    algorithm.filter_groups.metric=acc \
    actor_rollout_ref.actor.clip_ratio_high=0.28 \
    reward.custom_reward_function.path=pkg://reward_fns.dapo_math \
    +reward.custom_reward_function.reward_kwargs.max_length=4096 \
    +reward.custom_reward_function.reward_kwargs.overlong_buffer=819 \
    "$@"
