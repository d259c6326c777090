"""Fingerprints of domains, by which components are known again: sums of random words of candidates (Zobrist 1970).

That of a domain is made when it is first asked for; that of a row is there from the beginning.
"""

from __future__ import annotations

import numpy as np

from cusubmatch.engines.cpu.conditioning import registers as c
from cusubmatch.engines.cpu.conditioning.lists.domains import is_image
from cusubmatch.engines.cpu.conditioning.lists.state import UNKNOWN
from cusubmatch.engines.cpu.primitives.jit import inner, jit, trailing_zeros

__all__ = ["domains_key"]


@inner
def _add_up(s, w):
    """Make the fingerprint of the domain of w."""
    first, second = np.uint64(0), np.uint64(0)
    for i in range(s.begin[w], s.end[w]):
        x = s.store[i]
        first += s.words_1[x]
        second += s.words_2[x]
    s.fingerprint_1[w], s.fingerprint_2[w] = first, second


@jit
def domains_key(s, component):
    """The two words that stand for the domains of a component, and for its pending images."""
    first = second = np.uint64(0)
    touched, rest = s.registers[c.TOUCHED], component
    while rest:
        w = trailing_zeros(rest)
        rest &= rest - 1
        if (touched >> w) & 1:
            if s.fingerprint_1[w] == UNKNOWN:
                _add_up(s, w)
            first += s.fingerprint_1[w] * s.factors[32 + w]
            second += s.fingerprint_2[w] * s.factors[32 + w]
            continue
        others, seen = s.conflicts[w] & s.registers[c.MATCHED], np.int64(0)
        while others:
            v = trailing_zeros(others)
            others &= others - 1
            x = s.image[v]
            if (s.masks[x] >> w) & 1 and not is_image(s, seen, x):
                first += s.words_1[x] * s.factors[128 + w]
                second += s.words_2[x] * s.factors[128 + w]
                seen |= np.int64(1) << v
    return first, second
