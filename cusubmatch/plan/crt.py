"""Integers beyond 64 bits by the Chinese remainder theorem, with primes below 2^31: products fit a 64-bit word."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from operator import mul
from typing import Any

__all__ = ["PRIMES", "WORD", "chinese_remainder", "primes_beside_word", "primes_beyond"]

WORD = 1 << 64
ROUNDING = 1 + 1e-6  # of a bound made of floats

# The largest primes below 2^31. Their product has 1,239 bits: it passes every float, and the matches of any pattern
# (32 vertices) in any graph (2^31 vertices).
# fmt: off
PRIMES = tuple((1 << 31) - below for below in (
    1, 19, 61, 69, 85, 99, 105, 151, 159, 171, 225, 249, 295, 325, 379, 399, 411, 469, 477, 511,
    525, 571, 579, 589, 595, 615, 619, 697, 699, 705, 711, 727, 771, 775, 781, 789, 829, 831, 837, 847,
))
# fmt: on


def primes_beyond(bound: int) -> list[int]:
    """The largest primes below 2^31, as many as it takes for their product to pass a bound below 2^1239."""
    needed = sum(product <= bound for product in accumulate(PRIMES, mul, initial=1))
    if needed > len(PRIMES):
        raise OverflowError(f"bound: expected less than 2^1239, got a number of {bound.bit_length()} bits")
    return list(PRIMES[:needed])


def primes_beside_word(bound: float) -> list[int]:
    """As many primes as it takes, besides 2^64, to tell numbers up to a bound apart, which was made of floats."""
    return primes_beyond(int(bound * ROUNDING) // WORD)


def chinese_remainder(residues: Sequence[Any], moduli: Sequence[int]) -> Any:
    """The least number with these residues, or an array of such numbers, Python's integers; moduli share no factor."""
    number, product = 0, 1
    for residue, modulus in zip(residues, moduli, strict=True):
        exact = residue if isinstance(residue, int) else residue.astype(object)
        number += product * ((exact - number) * pow(product, -1, modulus) % modulus)
        product *= modulus
    return number
