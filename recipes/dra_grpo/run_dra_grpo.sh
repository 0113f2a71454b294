#!/usr/bin/env bash
# DRA-GRPO. Arguments are verl's: key=value ...
set -euo pipefail
exec "${PYTHON:-python}" -m verl.trainer.main_ppo \
    --config-path "$(cd "$(dirname "$0")" && pwd)" --config-name config \
    trainer.experiment_name=dra_grpo \
    "$@"
