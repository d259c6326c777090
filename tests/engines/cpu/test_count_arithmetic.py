"""The arithmetic of counts is that of Python's integers, modulo 2^128 or four primes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiers import examples

from cusubmatch.engines.cpu.conditioning.count_arithmetic import (
    EXACT_BELOW,
    RESIDUES,
    as_float,
    from_word,
    minus,
    plus,
    residues_of,
    times,
)
from cusubmatch.engines.cpu.primitives.jit import jit
from cusubmatch.plan.crt import PRIMES

WIDE = 1 << 128
OPERATIONS = {plus: int.__add__, minus: int.__sub__, times: int.__mul__}
# Numbers of any length are as likely as each other, and those with long runs of ones, which carry.
numbers = st.integers(0, 128).flatmap(lambda bits: st.integers(0, (1 << bits) - 1)) | st.sampled_from(
    [(1 << a) - (1 << b) for a in (64, 65, 100, 128) for b in (0, 1, 63, 64) if b < a]
)


class State(NamedTuple):
    primes: np.ndarray


def compiled(operation):
    @jit
    def call(s, a, b):
        return operation(s, a, b)

    return call


CALLS = {operation: compiled(operation) for operation in OPERATIONS}


@jit
def word_of(s, value):
    return from_word(s, value)


@jit
def float_of(a):
    return as_float(a)


def words(value):
    return np.uint64(value & 0xFFFFFFFFFFFFFFFF), np.uint64(value >> 64)


def packed(residues):
    first, second, third, fourth = residues
    return np.uint64(first | second << 32), np.uint64(third | fourth << 32)


def value_of(pair):
    low, high = (int(word) for word in pair)
    return low | high << 64


@examples(100)
@pytest.mark.parametrize("operation", OPERATIONS)
@given(a=numbers, b=numbers)
def test_two_words_count_modulo_2_to_the_128th(operation, a, b):
    found = CALLS[operation](State(np.zeros(RESIDUES, np.uint64)), words(a), words(b))
    assert value_of(found) == OPERATIONS[operation](a, b) % WIDE


fours = st.integers(0, len(PRIMES) - RESIDUES).map(lambda first: PRIMES[first : first + RESIDUES])


@examples(100)
@pytest.mark.parametrize("operation", OPERATIONS)
@given(primes=fours, data=st.data())
def test_residues_count_modulo_four_primes(operation, primes, data):
    a, b = ([data.draw(st.integers(0, p - 1) | st.just(p - 1)) for p in primes] for _ in range(2))
    found = CALLS[operation](State(np.array(primes, np.uint64)), packed(a), packed(b))
    wanted = [OPERATIONS[operation](x, y) % p for x, y, p in zip(a, b, primes, strict=True)]
    assert residues_of(*map(int, found)) == wanted


@given(value=st.integers(0, (1 << 63) - 1), primes=fours)
def test_a_number_of_one_word(value, primes):
    assert value_of(word_of(State(np.zeros(RESIDUES, np.uint64)), np.int64(value))) == value
    found = word_of(State(np.array(primes, np.uint64)), np.int64(value))
    assert residues_of(*map(int, found)) == [value % p for p in primes]


@given(value=numbers)
def test_a_float_is_near_and_tells_what_is_exact(value):
    found = float_of(words(value))
    assert found == pytest.approx(float(value), rel=1e-15)
    assert found < EXACT_BELOW or value >= (1 << 126) - (1 << 73)
