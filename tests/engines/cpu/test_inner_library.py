"""Functions that only compiled functions call have no machine code of their own, and work in their callers."""

import numba
import numpy as np
import pytest

from cusubmatch.engines.cpu.primitives.inner_library import InnerLibrary
from cusubmatch.engines.cpu.primitives.jit import inner, jit

NAMES = ("one", "two")


@inner
def _plus_its_double(numbers, i):
    return numbers[i] + _double(numbers[i])


@inner
def _double(number):
    if number < 0:
        raise ValueError("negative")
    return 2 * number


@jit
def _sum(numbers):
    total = 0
    for i in range(len(numbers)):
        total += _plus_its_double(numbers, i)
    return total


@inner
def _name(number):
    return NAMES[number] + str(number)


@jit
def _length(number):
    return len(_name(number))


def test_callers_hold_the_code_of_inner_functions_which_have_no_address():
    caller = numba.njit(_sum.py_func)  # not from the disk, where an earlier process may have left it
    assert caller(np.arange(5)) == 30
    (compiled,) = _plus_its_double.overloads.values()
    assert isinstance(compiled.library, InnerLibrary)
    assert compiled.library.get_pointer_to_function(compiled.fndesc.mangled_name) == 0
    assert "define" in next(iter(caller.overloads.values())).library.get_llvm_str()


def test_what_an_inner_function_raises_reaches_the_caller():
    with pytest.raises(ValueError, match="negative"):
        _sum(np.array([1, -1]))


def test_text_of_numbers_is_made_as_in_any_function():
    assert _length(1) == 4
