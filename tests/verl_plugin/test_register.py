"""Names in verl's registries, in processes of their own: what one import does must not hide what another needs."""

import os
import subprocess
import sys
from pathlib import Path


def python(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "HF_HUB_OFFLINE": "1", **environment},
    )


def test_verl_knows_every_name_once_it_imports_its_registries():
    code = """
import verl
from verl.trainer.ppo.v1 import get_trainer_cls
from verl.experimental.reward_loop.reward_manager import get_reward_manager_cls
print(get_trainer_cls("rdiverse_challenger").__module__, get_reward_manager_cls("rdiverse_challenger").__name__)
from rdiverse_verl.verl_plugin.register import missing_names
print(missing_names())
"""
    result = python(code)
    assert result.stdout.splitlines() == [
        "rdiverse_verl.verl_plugin.challenger_trainer ChallengerRewardManager",
        "[]",
    ], result.stderr


def test_missing_names_reports_what_verl_does_not_know():
    code = """
import rdiverse_verl.verl_plugin.register as register
register.NAMES["trainer"]["no_such_trainer"] = "rdiverse_verl.verl_plugin.solver_trainer"
print(register.missing_names())
"""
    result = python(code)
    assert result.stdout.splitlines() == ["['trainer:no_such_trainer']"], result.stderr


def test_our_own_modules_may_be_imported_before_verls():
    code = """
import rdiverse_verl.verl_plugin.challenger_reward
import rdiverse_verl.verl_plugin.challenger_trainer
import rdiverse_verl.verl_plugin.seeded_agent_loop
from rdiverse_verl.verl_plugin.register import missing_names
print(missing_names())
"""
    result = python(code)
    assert result.stdout.splitlines() == ["[]"], result.stderr


def test_importing_the_plug_in_imports_neither_torch_nor_verl():
    code = """
import sys
import rdiverse_verl.verl_plugin.register
print([name for name in ("torch", "verl", "ray", "numpy") if name in sys.modules])
"""
    assert python(code).stdout.strip() == "[]"


def test_importing_verl_alone_does_not_import_its_trainer():
    code = """
import sys
import verl
print([name for name in ("verl.trainer.ppo.v1", "verl.experimental.reward_loop", "rdiverse_verl.verl_plugin.settings")
       if name in sys.modules])
"""
    assert python(code).stdout.strip() == "[]"


def test_a_name_that_cannot_be_registered_fails_the_import_with_one_line(tmp_path: Path):
    code = """
import rdiverse_verl.verl_plugin.register as register
register.NAMES["trainer"]["rdiverse_solver"] = "no_such_module"
import verl.trainer.ppo.v1
print("went on")
"""
    result = python(code)
    assert result.returncode != 0
    assert "went on" not in result.stdout
    line = (
        "rdiverse-verl cannot register the trainer 'rdiverse_solver' (no_such_module): "
        "ModuleNotFoundError: No module named 'no_such_module'"
    )
    assert line in result.stderr.splitlines()


def test_a_hook_runs_once_after_the_module_and_at_once_if_it_is_loaded():
    code = """
from rdiverse_verl.verl_plugin.import_hook import after_import
seen = []
after_import("colorsys", lambda module: seen.append(("later", callable(module.rgb_to_hsv))))
after_import("colorsys", lambda module: seen.append(("second", module.__spec__.loader.is_package("colorsys"))))
import colorsys, importlib
importlib.import_module("colorsys")
after_import("colorsys", lambda module: seen.append(("loaded", module is colorsys)))
print(seen)
"""
    assert python(code).stdout.strip() == "[('later', True), ('second', False), ('loaded', True)]"
