"""Benchmarks start as their docstrings say, without a GPU; the script for a GPU machine tells when a part failed."""

from __future__ import annotations

import ast
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from paths import ROOT
from tiers import thorough

BENCHMARKS = Path("tests", "benchmarks")
ON_GPU = BENCHMARKS / "on_gpu.sh"


def scripts():
    """The benchmarks that are run, rather than imported by others."""
    paths = sorted((ROOT / BENCHMARKS).glob("*.py"))
    return [path.name for path in paths if '\nif __name__ == "__main__":\n' in path.read_text(encoding="utf-8")]


def documented(name):
    """The command in the docstring of a benchmark."""
    tree = ast.parse((ROOT / BENCHMARKS / name).read_text(encoding="utf-8"))
    return re.search(r"^    (python .*(\n        .*)*)", ast.get_docstring(tree), re.MULTILINE)[1]


@pytest.mark.parametrize("name", ["compare.py", *thorough(*(name for name in scripts() if name != "compare.py"))])
def test_the_documented_command_of_a_benchmark_starts_without_a_gpu_and_has_the_documented_options(name):
    command = documented(name)
    python, path, *_ = shlex.split(command)
    assert (python, Path(path)) == ("python", BENCHMARKS / name)
    environment = os.environ | {"PYTHONPATH": str(ROOT), "COLUMNS": "200", "NO_COLOR": "1"}
    done = subprocess.run(
        [sys.executable, path, "--help"], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "Usage: " in done.stdout
    assert [option for option in re.findall(r"--[\w-]+", command) if option not in done.stdout] == []


def test_every_benchmark_is_either_run_or_imported_by_another():
    names = {path.stem for path in (ROOT / BENCHMARKS).glob("*.py")}
    sources = [path.read_text(encoding="utf-8") for path in (ROOT / BENCHMARKS).glob("*.py")]
    imported = {name for source in sources for name in re.findall(r"^from (\w+) import", source, re.MULTILINE)}
    assert names - {Path(name).stem for name in scripts()} <= imported


def run_on_gpu(folder, fails=""):
    """Run the script with a Python that notes its arguments, and fails at those which contain the words."""
    stub = f'#!/bin/sh\necho "$*" >> {shlex.quote(str(folder / "calls"))}\ncase " $* " in *"$FAILS"*) exit 1 ;; esac\n'
    for name in ("python3", "compute-sanitizer"):
        (folder / name).write_text(stub, encoding="utf-8")
        (folder / name).chmod(0o755)
    environment = {"PATH": f"{folder}{os.pathsep}{os.defpath}", "FAILS": fails or "nothing fails"}
    done = subprocess.run(
        [shutil.which("bash"), str(ON_GPU)], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    return done, (folder / "calls").read_text(encoding="utf-8").splitlines()


def test_the_script_for_a_gpu_machine_runs_files_that_exist_and_succeeds_when_all_parts_do(tmp_path):
    done, calls = run_on_gpu(tmp_path)
    assert done.returncode == 0, done.stderr
    files = re.findall(r"tests/\S+\.py", " ".join(calls))
    assert len(files) > 15
    assert [file for file in files if not (ROOT / file).is_file()] == []


@pytest.mark.parametrize(
    "words",
    [" -m gpu ", " --engine gpu -m ", " memcheck ", " racecheck ", "/gpu.py", "/decomposition.py", "/streaming.py"],
)
def test_the_script_for_a_gpu_machine_goes_on_after_a_failure_names_it_and_fails(words, tmp_path):
    done, calls = run_on_gpu(tmp_path, words)
    assert done.returncode == 1
    assert len(calls) == 7
    assert [line for line in done.stderr.splitlines() if line.startswith("failed:")] != []


@pytest.fixture
def notes(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / BENCHMARKS)
    import notes

    return notes


@pytest.mark.parametrize("begin", [0, 5000, (1 << 14) - 990])
def test_warps_that_look_for_work_in_the_tail_are_not_busy_there(notes, begin):
    length, warps = 1000, 8000
    looks, idle = np.zeros((2, notes.SLOTS), np.int64)
    for after, times, away in [
        (0, 9, 8000),
        (300, 50, 100),
        (949, 0, 0),
        (950, 3, 1000),
        (975, 7, 5000),
        (999, 1, 8000),
    ]:
        slots = (begin + np.arange(after, 1000 if after in {950, 975} else after + 1)) % notes.SLOTS
        looks[slots], idle[slots] = times, times * away
    share = notes.busy_at_the_end(looks, idle, length * (1 << notes.SHIFT) * 1e-6, 0.1, warps)
    assert share == pytest.approx(1 - (25 * 1000 + 24 * 5000 + 8000) / 100 / warps)


def test_warps_are_busy_until_they_leave(notes):
    gone = np.zeros(notes.SLOTS, np.int64)
    gone[[notes.SLOTS - 1, 0, 2]] = 1, 2, 1
    share = notes.busy_until_they_left(gone, 6 * (1 << notes.SHIFT) * 1e-6)
    assert share.tolist() == [1, 1, 1, 0.75, 0.25, 0.25]
