"""Compiled code is made once, whoever needs it; what is wrong with its folder or with Numba's settings is said."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import numba
import pytest

import cusubmatch
from cusubmatch.engines.compile.code_cache import enable_caching
from cusubmatch.engines.cpu.primitives import jit
from cusubmatch.errors import DeadlinePassed
from cusubmatch.system.deadlines import before_compiling

ROOT = Path(cusubmatch.__file__).parents[1]
KERNEL = """
import os, sys, threading, time
from pathlib import Path
from cusubmatch.engines.cpu.primitives.jit import jit

@jit
def inner(x):
    return x + 1

@jit
def outer(x):
    total = 0
    for i in range(x):
        total += inner(i)
    return total

if __name__ == "__main__":
    here = Path(sys.argv[1])
    (here / f"{os.getpid()}.ready").touch()
    while len(list(here.glob("*.ready"))) < 2:
        time.sleep(0.001)
    outer(3)
    misses = sum(sum(each.stats.cache_misses.values()) for each in (inner, outer))
    print(misses, *(each.stats.cache_hits.total() for each in (inner, outer)))
"""
COUNT = """
import pandas as pd, cusubmatch as csm
print(csm.count_matches(pd.DataFrame({"src": [0], "dst": [1]}), "(a)--(b)", engine="cpu"))
"""


def begun(code, *arguments, **environment):
    environment = os.environ | {"PYTHONPATH": str(ROOT)} | environment
    given = {"env": environment, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen([sys.executable, *code, *map(str, arguments)], **given)


@pytest.mark.thorough
def test_of_two_processes_that_start_together_one_compiles_and_the_other_loads(tmp_path):
    source = tmp_path / "kernels.py"
    source.write_text(KERNEL)
    both = [begun([source], tmp_path, NUMBA_CACHE_DIR=str(tmp_path / "cache")) for _ in range(2)]
    told = [process.communicate(timeout=60) for process in both]
    assert [process.returncode for process in both] == [0, 0], told
    assert sum(int(out.split()[0]) for out, _ in told) == 2  # functions compiled, in both processes


def test_who_waits_for_a_compiler_of_another_process_goes_on_when_that_is_killed(tmp_path):
    from cusubmatch.engines.compile.code_cache import _is_locked_elsewhere, locked

    holds = """
        import sys, time
        from pathlib import Path
        from cusubmatch.engines.compile.code_cache import locked
        with locked(Path(sys.argv[1])):
            print("held", flush=True)
            time.sleep(60)
    """
    other = begun(["-c", textwrap.dedent(holds)], tmp_path / "kernel.lock")
    assert other.stdout.readline() == "held\n"
    with (tmp_path / "kernel.lock").open("rb+") as file:
        assert _is_locked_elsewhere(file.fileno())
        other.kill()
        begin = time.perf_counter()
        with locked(tmp_path / "kernel.lock"):
            assert _is_locked_elsewhere(file.fileno())
        assert time.perf_counter() - begin < 5
    other.communicate()


def test_where_no_file_can_be_locked_a_process_compiles_for_itself(tmp_path):
    from cusubmatch.engines.compile.code_cache import locked

    with locked(tmp_path / "no folder" / "kernel.lock"):
        assert list(tmp_path.iterdir()) == []


def test_a_cache_that_cannot_be_written_is_said_once_with_what_would_do(tmp_path, monkeypatch, caplog):
    from cusubmatch.engines.compile.code_cache import _warn_once, cache_folder

    _warn_once.cache_clear()
    (tmp_path / "file").touch()
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "file"))
    assert cache_folder.__wrapped__(ROOT / "cusubmatch" / "cpu", "one") is None
    assert cache_folder.__wrapped__(ROOT / "cusubmatch" / "gpu", "two") is None
    [line] = caplog.messages
    assert line.startswith(f"cusubmatch: {str(tmp_path / 'file' / 'cusubmatch')!r} cannot be written")
    assert "NUMBA_CACHE_DIR" in line
    _warn_once.cache_clear()


def test_a_user_without_a_home_is_told_so(monkeypatch, caplog):
    from cusubmatch.engines.compile.code_cache import _warn_once, cache_folder

    _warn_once.cache_clear()
    for name in ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("os.path.expanduser", lambda path: path)
    assert cache_folder.__wrapped__(ROOT / "cusubmatch" / "cpu", "one") is None
    [line] = caplog.messages
    assert line.startswith("cusubmatch: '~")
    assert not Path("~").exists()
    _warn_once.cache_clear()


def plus_one(x):
    return x + 1


@pytest.mark.parametrize("suffix", ["nbi", "nbc"])  # the index, and the code
def test_compiled_code_that_cannot_be_read_is_made_anew(suffix, tmp_path, caplog):
    def compiled():
        return enable_caching(numba.njit(plus_one), numba.core.config, tmp_path)

    assert compiled()(1) == 2
    (kept,) = tmp_path.rglob(f"*.{suffix}")
    kept.write_bytes(kept.read_bytes()[:-9])
    again = compiled()
    assert again(1) == 2
    assert "plus_one is compiled anew: what is kept cannot be read" in caplog.text
    assert again.stats.cache_hits.total() == 0
    loaded = compiled()
    assert loaded(1) == 2
    assert loaded.stats.cache_hits.total() == 1


@pytest.mark.parametrize("given", ["0", "-1", "abc", "", "1.5"])
def test_a_number_of_threads_that_is_none_is_refused_by_the_name_of_its_variable(given, monkeypatch):
    from cusubmatch.engines.compile.code_cache import check_threads

    monkeypatch.setenv("NUMBA_NUM_THREADS", given)
    expected = f"NUMBA_NUM_THREADS: expected a number of threads, 1 or more, got {given!r}; without it all cores"
    with pytest.raises(ValueError, match=re.escape(expected)):
        check_threads()


@pytest.mark.parametrize("given", ["1", " 8 "])
def test_a_number_of_threads_is_taken(given, monkeypatch):
    from cusubmatch.engines.compile.code_cache import check_threads

    monkeypatch.setenv("NUMBA_NUM_THREADS", given)
    check_threads()


def test_a_wrong_number_of_threads_is_refused_before_numba_is_imported():
    process = begun(["-W", "error", "-c", COUNT], NUMBA_NUM_THREADS="abc")
    _, told = process.communicate(timeout=60)
    assert process.returncode == 1
    assert told.splitlines()[-1].startswith("ValueError: NUMBA_NUM_THREADS: expected")
    assert "numba/" not in told


def test_a_thread_that_would_hinder_others_waits_before_a_part_is_compiled_and_not_before_it_is_loaded(
    monkeypatch, tmp_path
):
    monkeypatch.setattr(jit, "_folder", lambda: tmp_path)
    monkeypatch.setattr(jit, "_compiled", set())
    monkeypatch.setattr(jit, "_announced", {"a part"})
    waits = []
    for process in range(2):
        jit._compiled.clear()  # as a new process has it
        for _ in range(2):
            with before_compiling(lambda process=process: waits.append(process)), jit.announced("a part"):
                pass
    assert waits == [0]
    with pytest.raises(DeadlinePassed), before_compiling(raise_deadline), jit.announced("another part"):
        pass
    assert not jit.is_compiled("another part")


def raise_deadline():
    raise DeadlinePassed
