"""What `import verl` brings into a process, with and without VERL_PLATFORM=cpu."""

import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.slow


def run_python(code, **environment):
    return subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env={**os.environ, "VERL_USE_EXTERNAL_PLUGINS": "rdiverse_cpu", **environment},
        timeout=120,
    )


def test_import_registers_the_platform_and_nothing_heavy():
    code = (
        "import verl, sys; from verl.plugin.platform import get_platform; print(type(get_platform()).__name__);"
        "print([m for m in sys.modules if m.startswith(('verl.workers', 'verl.trainer', 'rdiverse_verl.cpu.engine'))])"
    )
    child = run_python(code, VERL_PLATFORM="cpu")
    assert child.stdout.splitlines() == ["CpuPlatform", "[]"], child.stderr


def test_registries_know_the_cpu_names_once_they_are_imported():
    code = (
        "import verl; from verl.workers.rollout.replica import RolloutReplicaRegistry;"
        "from verl.workers.rollout.base import get_rollout_class; from verl.workers.engine import EngineRegistry;"
        "print(RolloutReplicaRegistry.get('transformers').__name__, get_rollout_class('transformers').__name__,"
        " EngineRegistry.get_engine_cls('language_model', 'fsdp2').__name__)"
    )
    child = run_python(code, VERL_PLATFORM="cpu")
    assert child.stdout.split() == ["TransformersReplica", "TransformersClient", "FSDPEngineWithLMHead"], child.stderr


def test_without_the_platform_variable_nothing_is_registered():
    code = "import verl; from verl.plugin.platform import PlatformRegistry; print(PlatformRegistry.get('cpu'))"
    assert run_python(code, VERL_PLATFORM="").stdout.strip() == "None"


def test_a_plugin_that_cannot_load_ends_the_process_with_one_clear_line(tmp_path):
    (tmp_path / "sitecustomize.py").write_text("import sys; sys.modules['rdiverse_verl.cpu.install'] = None\n")
    child = run_python("import verl; print('went on')", VERL_PLATFORM="cpu", PYTHONPATH=str(tmp_path))
    assert child.returncode == 1
    assert "went on" not in child.stdout
    assert child.stderr.splitlines()[-1].startswith("rdiverse-verl: VERL_PLATFORM=cpu, but the CPU plug-in failed")
