"""What the documents of the repository say is there, is there: rooms on the map, paths, the tiers of the tests."""

from __future__ import annotations

import functools
import re
import subprocess
import tomllib

import pytest
from paths import ROOT

PACKAGE = ROOT / "cusubmatch"
MAP = PACKAGE / "ARCHITECTURE.md"
DOCUMENTS = [MAP, ROOT / ".github" / "CONTRIBUTING.md", ROOT / "README.md"]
PATH_IN_BACKTICKS = (
    r"`([\w./-]*/[\w./-]*|[\w-]+\.(?:py|md|toml|lark|sh))`"  # in backticks, with a slash or a suffix of sources
)
MADE_BY_USERS = {".venv/bin/pre-commit", "~/.cache/cusubmatch"}


def paths_in(document):
    """Paths that a document names in backticks."""
    return sorted({*re.findall(PATH_IN_BACKTICKS, document.read_text(encoding="utf-8"))})


@functools.cache
def in_package():
    """All paths inside the package."""
    return [f"/{found.relative_to(PACKAGE).as_posix()}" for found in PACKAGE.rglob("*")]


def exists(path):
    """Whether there is such a path: from the root, from the package, or anywhere inside it."""
    if (ROOT / path).exists():
        return True
    end = "/" + path.rstrip("/")
    return any(found.endswith(end) for found in in_package())


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_path_that_a_document_names_exists(document):
    assert paths_in(document)
    assert [path for path in paths_in(document) if not exists(path)] == []


def test_every_name_in_the_text_of_the_map_is_in_the_sources():
    """But for commands and arguments."""
    named = re.findall(
        r"`([A-Za-z_][\w.]*)(?:\([^`]*\))?`", MAP.read_text(encoding="utf-8").partition("## Glossary")[0]
    )
    words = {word for name in named if not exists(name) for word in name.split(".")}
    sources = "\n".join(path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py"))
    assert sorted(word for word in words - {"WHERE"} if not re.search(rf"\b{word}\b", sources)) == []


def test_every_room_is_on_the_map():
    rooms = {path.parent.name + "/" for path in PACKAGE.glob("*/__init__.py")}
    table = re.search(r"\n\| room .*?\n\n", MAP.read_text(encoding="utf-8"), re.DOTALL)[0]
    assert sorted(room for room in rooms if f"`{room}" not in table) == []


def test_ci_runs_the_test_command_of_the_readme_and_the_tiers_behind_it(tmp_path):
    """With a shell that says what it is asked to run."""
    (tmp_path / ".ci").mkdir()
    for name in (".ci/run", "README.md"):
        (tmp_path / name).write_text((ROOT / name).read_text(encoding="utf-8"), encoding="utf-8")
    tools = tmp_path / "bin"
    tools.mkdir()
    (tools / "say").write_text('#!/bin/sh\necho "said: $(basename "$0") $*"\n')
    made = (
        f'mkdir -p .venv/bin\nfor n in pip uv ruff mypy lint-imports pytest; do cp "{tools}/say" .venv/bin/$n; done\n'
    )
    (tools / "python3").write_text(f"#!/bin/sh\n{made}")
    for path in tools.iterdir():
        path.chmod(0o755)
    done = subprocess.run(
        ["bash", tmp_path / ".ci" / "run"],
        env={"PATH": f"{tools}:/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=True,
    )
    said = re.findall(r"^said: (.*)$", done.stdout, re.MULTILINE)
    tools_in_order = ["pip", "uv", "pytest", "ruff", "mypy", "lint-imports", "pytest", "pytest"]
    assert [line.split()[0] for line in said] == tools_in_order
    quick, *_, thorough, timed = (line for line in said if line.startswith("pytest"))
    assert "thorough" not in quick
    assert "--hypothesis-profile=thorough" in thorough
    assert timed.endswith("-m timed")


def test_a_plain_run_of_pytest_is_the_quick_tier():
    options = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["pytest"]["ini_options"]
    left_out = re.search(r"-m 'not \((.*?)\)'", options["addopts"])[1].split(" or ")
    tiers = {marker.partition(":")[0] for marker in options["markers"]} - {"one_each"}
    assert {*left_out} == tiers
