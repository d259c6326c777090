"""The extras of a GPU say the same for each CUDA, and the conda recipe installs what `pyproject.toml` says."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
import yaml

import cusubmatch

ROOT = Path(__file__).resolve().parents[1]
RECIPE = yaml.safe_load((ROOT / "conda" / "recipe.yaml").read_text(encoding="utf-8"))
OUTPUTS = {output["package"]["name"]: output for output in RECIPE["outputs"]}
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]
CONDA_NAMES = {"cupy-cuda13x": "cupy", "cudf-cu13": "cudf", "cugraph-cu13": "cugraph", "numba-cuda[cu13]": "numba-cuda"}


def in_conda(requirement):
    """A requirement of pip's in the words of conda."""
    name, bounds = re.fullmatch(r"([\w-]+(?:\[\w+\])?)(.*)", requirement).groups()
    return " ".join(filter(None, [CONDA_NAMES.get(name, name), bounds.removeprefix("==")]))


def test_the_recipe_has_the_version_of_the_package():
    assert RECIPE["context"]["version"] == cusubmatch.__version__


def test_the_recipe_requires_what_the_package_requires():
    run = OUTPUTS["cusubmatch"]["requirements"]["run"]
    assert run == ["python >=${{ python_min }}", *map(in_conda, PROJECT["dependencies"])]
    assert PROJECT["requires-python"] == f">={RECIPE['context']['python_min']}"


def test_the_recipe_makes_the_scripts_of_the_package():
    scripts = [f"{name} = {target}" for name, target in PROJECT["scripts"].items()]
    assert OUTPUTS["cusubmatch"]["build"]["python"]["entry_points"] == scripts


def test_the_gpu_output_of_the_recipe_adds_what_the_extra_of_a_gpu_adds():
    needs = OUTPUTS["cusubmatch-gpu"]["requirements"]
    added = ["${{ pin_subpackage('cusubmatch', exact=True) }}", "cuda-version >=12,<14", *map(in_conda, EXTRAS["cu13"])]
    assert needs["run"] == added
    assert needs["run_constraints"] == [in_conda(EXTRAS["cugraph"][-1])]


@pytest.mark.parametrize(("cuda_12", "cuda_13"), [("cu12", "cu13"), ("cugraph-cu12", "cugraph")])
def test_the_extras_for_cuda_12_are_those_for_cuda_13(cuda_12, cuda_13):
    assert EXTRAS[cuda_12] == [requirement.replace("13", "12") for requirement in EXTRAS[cuda_13]]


def test_only_the_extras_of_a_gpu_and_their_tests_hold_numba_and_pandas_back():
    assert [requirement for requirement in PROJECT["dependencies"] if "<" in requirement] == []
    bounds = {"numba<0.65", "pandas<3.1"}
    assert [name for name, extra in EXTRAS.items() if bounds <= {*extra}] == ["cu13", "cu12", "test"]
