#!/usr/bin/env bash
# ExTra-N: novelty alone (Table 1). Arguments are verl's: key=value ...
set -euo pipefail
exec "${PYTHON:-python}" -m verl.trainer.main_ppo \
    --config-path "$(cd "$(dirname "$0")" && pwd)" --config-name config \
    trainer.experiment_name=extra_n \
    +rdiverse.extra.regeneration.enable=False \
    "$@"
