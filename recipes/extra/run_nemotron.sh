#!/usr/bin/env bash
# Any run of this folder on Nemotron-1.5B (Table 2): run_nemotron.sh run_extra.sh [key=value ...]
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
script=${1:?name a script of this folder: run_extra.sh, run_grpo.sh or run_dapo.sh}
shift
name=${script#run_}
exec "$here/$script" \
    actor_rollout_ref.model.path=nvidia/Nemotron-Research-Reasoning-Qwen-1.5B \
    "trainer.experiment_name=nemotron_${name%.sh}" \
    "$@"
