#!/usr/bin/env bash
# Novelty signals (Table 6), one run after the other. Arguments are verl's: key=value ...
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
for novelty in surprise ngram embedding; do
    "$here/run_extra.sh" "+rdiverse.extra.novelty=$novelty" "trainer.experiment_name=novelty_$novelty" "$@"
done
