#!/usr/bin/env bash
# bash recipes/tiny/run.sh grpo|dra|extra [key=value ...]: 20 steps on a CPU, into RUN_DIR (runs/tiny_<method>).
set -euo pipefail
cd "$(dirname "$0")/../.."

method=${1:?give a method: grpo, dra or extra}
shift
python=${PYTHON:-.venv/bin/python}
export RUN_DIR=${RUN_DIR:-$PWD/runs/tiny_$method}
mkdir -p "$RUN_DIR"
TINY_MODEL=$("$python" -c 'from rdiverse_verl.tiny import base_model_path; print(base_model_path())')
export TINY_MODEL VERL_FILE_LOGGER_PATH="$RUN_DIR/metrics.jsonl" HF_HUB_OFFLINE=1

"$python" -m rdiverse_verl.tiny.training_set "$RUN_DIR/train.parquet"
environment=$("$python" -c 'from rdiverse_verl.cpu.overrides import cpu_environment
print(*(f"{name}={value}" for name, value in cpu_environment().items()))')
mapfile -t platform < <("$python" -c 'from rdiverse_verl.cpu.overrides import cpu_overrides, hydra_arguments
print(*hydra_arguments(cpu_overrides()), sep="\n")')
# shellcheck disable=SC2086 # one word a variable
exec env $environment "$python" -m verl.trainer.main_ppo --config-path "$PWD/recipes/tiny" --config-name "$method" \
    "${platform[@]}" "$@"
