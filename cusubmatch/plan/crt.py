"""Integers beyond 64 bits by the Chinese remainder theorem, with primes below 2^31: products fit a 64-bit word."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

__all__ = ["chinese_remainder", "is_prime", "primes_beyond"]

PRIME_BITS = 31


def primes_beyond(bound: int) -> list[int]:
    """The largest primes below 2^31, as many as it takes for their product to pass a bound."""
    primes: list[int] = []
    candidate = (1 << PRIME_BITS) - 1
    while math.prod(primes) <= bound:
        if is_prime(candidate):
            primes.append(candidate)
        candidate -= 2
    return primes


def is_prime(number: int) -> bool:
    """Whether an odd number below 3,215,031,751 is prime (Miller-Rabin; Pomerance, Selfridge, Wagstaff 1980)."""
    twos = ((number - 1) & (1 - number)).bit_length() - 1
    odd = (number - 1) >> twos
    for base in (2, 3, 5, 7):
        power = pow(base, odd, number)
        if power not in (1, number - 1) and all(pow(power, 1 << i, number) != number - 1 for i in range(1, twos)):
            return False
    return True


def chinese_remainder(residues: Sequence[Any], primes: Sequence[int]) -> Any:
    """The least number with these residues, or an array of such numbers, Python's integers."""
    number, product = 0, 1
    for value, prime in zip(residues, primes, strict=True):
        residue = value if isinstance(value, int) else value.astype(object)
        number += product * ((residue - number) * pow(product, -1, prime) % prime)
        product *= prime
    return number
