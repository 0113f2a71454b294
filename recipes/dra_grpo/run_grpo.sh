#!/usr/bin/env bash
# The GRPO baseline. Arguments are verl's: key=value ...
set -euo pipefail
exec "${PYTHON:-python}" -m verl.trainer.main_ppo \
    --config-path "$(cd "$(dirname "$0")" && pwd)" --config-name config \
    trainer.experiment_name=grpo \
    algorithm.adv_estimator=grpo \
    "$@"
