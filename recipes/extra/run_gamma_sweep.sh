#!/usr/bin/env bash
# The gamma sweep (Table 5), one run after the other. Arguments are verl's: key=value ...
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
for gamma in 0 0.5 1.0 5.0; do
    "$here/run_extra.sh" "+rdiverse.extra.gamma=$gamma" "trainer.experiment_name=gamma_$gamma" "$@"
done
