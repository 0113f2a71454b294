"""Look at this machine before a run does: what is installed, what verl really registers, whether Ray starts."""

import json
import os
import platform
import shutil
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import psutil
from rich.console import Console

PACKAGES = ("rdiverse-verl", "verl", "torch", "ray", "transformers", "TransferQueue", "vllm", "sentence-transformers")
REQUIRED = {"rdiverse-verl", "verl", "torch", "ray", "transformers"}
VERL_PIN = "0.9.1"
FRESH_PROCESS_TIMEOUT_S = 180.0
LOW_DISK_GIB = 5.0

# Each runs in a process of its own, as a Ray worker would, and prints one JSON value last.
DEVICES = """
import json, os, torch
print(json.dumps({"cuda": torch.cuda.device_count(), "torch_threads": torch.get_num_threads()}))
"""
PLUGINS = """
import json
from rdiverse_verl.verl_plugin.register import missing_names
print(json.dumps(missing_names()))
"""
RAY = """
import json, ray
ray.init(num_cpus=1, include_dashboard=False, log_to_driver=False, configure_logging=False)
print(json.dumps(ray.get(ray.remote(lambda: 1 + 1).remote()) == 2))
"""


def examine() -> dict[str, Any]:
    """Every finding, and ``ok``: whether a run can start here."""
    versions = {name: _version(name) for name in PACKAGES}
    problems = [f"{name} is not installed" for name in sorted(REQUIRED) if versions[name] is None]
    if versions["verl"] not in (None, VERL_PIN):
        problems.append(f"verl {versions['verl']} is installed; this package is made for {VERL_PIN}")
    devices, failure = _in_fresh_process(DEVICES)
    problems += failure
    missing, failure = _in_fresh_process(PLUGINS)
    problems += failure + [f"verl does not know our {name}" for name in missing or []]
    ray_starts, failure = _in_fresh_process(RAY)
    problems += failure
    disk = shutil.disk_usage(Path.cwd()).free / 2**30
    if disk < LOW_DISK_GIB:
        problems.append(f"only {disk:.1f} GiB are free here")
    return {
        "ok": not problems,
        "problems": problems,
        "python": platform.python_version(),
        "versions": versions,
        "verl_platform": os.environ.get("VERL_PLATFORM", "auto"),
        "devices": devices,
        "plugins_missing": missing,
        "ray_starts": bool(ray_starts),
        "cpus": os.cpu_count(),
        "memory_gib": round(psutil.virtual_memory().total / 2**30, 1),
        "free_disk_gib": round(disk, 1),
    }


def print_findings(findings: dict[str, Any], as_json: bool) -> None:
    if as_json:
        print(json.dumps(findings, indent=2))
        return
    console = Console(highlight=False)
    for key, value in findings.items():
        if key == "versions":
            value = "  ".join(f"{name} {number or '–'}" for name, number in value.items())
        if key not in ("ok", "problems"):
            console.print(f"{key:<16} {value}")
    for problem in findings["problems"]:
        console.print(f"problem          {problem}", style="red")
    console.print("ready" if findings["ok"] else "not ready", style="green" if findings["ok"] else "red")


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _in_fresh_process(code: str) -> tuple[Any, list[str]]:
    """The JSON value that ``code`` prints last, and what went wrong instead."""
    try:
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, timeout=FRESH_PROCESS_TIMEOUT_S, check=False
        )
    except subprocess.TimeoutExpired:
        doing = code.strip().splitlines()[-1]
        return None, [f"a fresh process did not finish within {FRESH_PROCESS_TIMEOUT_S:g} s: {doing}"]
    lines = done.stdout.strip().splitlines()
    if done.returncode or not lines:
        last = (done.stderr.strip().splitlines() or ["no output"])[-1]
        return None, [f"a fresh process failed: {last}"]
    return json.loads(lines[-1]), []
