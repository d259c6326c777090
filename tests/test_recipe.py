"""The conda recipe installs what `pyproject.toml` says."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import cusubmatch

ROOT = Path(__file__).resolve().parents[1]
RECIPE = (ROOT / "conda" / "recipe.yaml").read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def test_the_recipe_has_the_version_of_the_package():
    assert f'version: "{cusubmatch.__version__}"' in RECIPE


def test_the_recipe_requires_what_the_package_requires():
    run = RECIPE.partition("  run:\n")[2].partition("\n\n")[0]
    required = [line.strip().removeprefix("- ").replace(" ", "", 1) for line in run.splitlines()]
    assert required == ["python>=${{ python_min }}", *PROJECT["dependencies"]]
    assert f'python_min: "{PROJECT["requires-python"].removeprefix(">=")}"' in RECIPE


def test_the_recipe_makes_the_scripts_of_the_package():
    scripts = [f"{name} = {target}" for name, target in PROJECT["scripts"].items()]
    assert re.findall(r"^ +- (\w+ = \S+)$", RECIPE, re.MULTILINE) == scripts
