#!/usr/bin/env bash
# DRA-DR. GRPO: no std, no 1/|o|. Arguments are verl's: key=value ...
set -euo pipefail
exec "${PYTHON:-python}" -m verl.trainer.main_ppo \
    --config-path "$(cd "$(dirname "$0")" && pwd)" --config-name config \
    trainer.experiment_name=dra_dr_grpo \
    algorithm.adv_estimator=dra_dr_grpo \
    actor_rollout_ref.actor.loss_agg_mode=seq-mean-token-sum-norm \
    actor_rollout_ref.actor.loss_scale_factor=3584 \
    rdiverse.seed=42 \
    "$@"
