"""Whatever else installs the package, or a place to work on it, installs what `pyproject.toml` says.

These are the conda recipe, the conda environment for a machine with a GPU, the pre-commit hooks, and the extras of a
GPU, which say the same for each CUDA.
"""

from __future__ import annotations

import re
import shlex
import tomllib
from fnmatch import fnmatch

import pytest
import yaml
from paths import ROOT

import cusubmatch

RECIPE = yaml.safe_load((ROOT / "conda" / "recipe.yaml").read_text(encoding="utf-8"))
OUTPUTS = {output["package"]["name"]: output for output in RECIPE["outputs"]}
ENVIRONMENT = yaml.safe_load((ROOT / "conda" / "environment-gpu.yaml").read_text(encoding="utf-8"))
HOOKS = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = PYPROJECT["project"]
EXTRAS = PROJECT["optional-dependencies"]
CONDA_NAMES = {
    "cupy-cuda13x": "cupy",
    "dask[dataframe]": "dask",  # whose conda package has the dataframe
    "cudf-cu13": "cudf",
    "cugraph-cu13": "cugraph",
    "numba-cuda[cu13]": "numba-cuda",
    "duckdb": "python-duckdb",
    "igraph": "python-igraph",
}
# In the environment beside what pyproject.toml says: what conda needs, and tools of a machine to work on.
CONDA_ONLY = {"python", "pip", "setuptools", "cuda-version", "pre-commit", "cuda-sanitizer-api"}


def in_conda(requirement):
    """A requirement of pip's in the words of conda."""
    name, bounds = re.fullmatch(r"([\w-]+(?:\[\w+\])?)(.*)", requirement).groups()
    return " ".join(filter(None, [CONDA_NAMES.get(name, name), bounds.removeprefix("==")]))


def bounds_by_name(requirements):
    """The set of bounds of each package, from requirements in the words of conda."""
    bounds = {}
    for requirement in requirements:
        name, _, some = requirement.partition(" ")
        bounds.setdefault(name, set()).update(filter(None, some.split(",")))
    return bounds


def matches(path, pattern):
    """Whether a path matches a pattern of setuptools', of which a star stays in its folder."""
    return path.count("/") == pattern.count("/") and fnmatch(path, pattern)


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


def test_the_dask_output_of_the_recipe_adds_what_the_extra_adds_and_tests_have_it():
    added = OUTPUTS["cusubmatch-dask"]["requirements"]["run"]
    assert added == ["${{ pin_subpackage('cusubmatch', exact=True) }}", *map(in_conda, EXTRAS["dask"])]
    assert {*EXTRAS["dask"]} <= {*EXTRAS["test"]}


@pytest.mark.parametrize(("cuda_12", "cuda_13"), [("cu12", "cu13"), ("cugraph-cu12", "cugraph")])
def test_the_extras_for_cuda_12_are_those_for_cuda_13(cuda_12, cuda_13):
    assert EXTRAS[cuda_12] == [requirement.replace("13", "12") for requirement in EXTRAS[cuda_13]]


def test_only_the_extras_of_a_gpu_and_their_tests_hold_numba_and_pandas_back():
    assert [requirement for requirement in PROJECT["dependencies"] if "<" in requirement] == []
    bounds = {"numba<0.65", "pandas<3.1"}
    assert [name for name, extra in EXTRAS.items() if bounds <= {*extra}] == ["cu13", "cu12", "test"]


def test_the_environment_for_a_gpu_machine_has_what_the_package_its_gpu_its_tests_and_benchmarks_need():
    wanted = [*PROJECT["dependencies"]]
    for extra in ("cugraph", "cu13", "test", "benchmark"):
        wanted += [requirement for requirement in EXTRAS[extra] if not requirement.startswith("cusubmatch")]
    there = bounds_by_name(ENVIRONMENT["dependencies"])
    assert {name: some for name, some in there.items() if name not in CONDA_ONLY} == bounds_by_name(
        map(in_conda, wanted)
    )
    assert there["python"] == {PROJECT["requires-python"]}
    assert [f"setuptools{bound}" for bound in there["setuptools"]] == PYPROJECT["build-system"]["requires"]
    assert there["cuda-version"] == bounds_by_name(OUTPUTS["cusubmatch-gpu"]["requirements"]["run"])["cuda-version"]


def test_the_hooks_run_the_checkers_of_the_test_extra():
    local = [hook for repository in HOOKS["repos"] for hook in repository["hooks"] if hook["language"] == "system"]
    checkers = {"ruff": "ruff", "mypy": "mypy", "lint-imports": "import-linter"}
    used = {checkers[shlex.split(hook["entry"])[0]] for hook in local}
    assert used == {re.match(r"[\w-]+", requirement)[0] for requirement in EXTRAS["test"]} & {*checkers.values()}


def test_every_file_of_the_package_is_installed():
    patterns = PYPROJECT["tool"]["setuptools"]["package-data"]["cusubmatch"]
    package = ROOT / "cusubmatch"
    files = [path.relative_to(package) for path in package.rglob("*") if path.is_file()]
    data = [path.as_posix() for path in files if path.suffix not in {".py", ".pyc"} and "__pycache__" not in path.parts]
    assert "pattern/language/grammar.lark" in data
    missing = [path for path in data if not any(matches(path, pattern) for pattern in patterns)]
    assert missing == []
