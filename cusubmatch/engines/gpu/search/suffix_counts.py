"""A suffix at warps: sizes of sets and tests as they become known, and the value of each match of the core.

What partial matches have in common is found once: a slot carries what is known of the suffix at its level (see
`suffix_layout`). The sizes of all slots of a level are found by the whole warp, as weights are. At a complete core a
lane takes the lost vertices off its sizes and adds up the monomials of each factor (GraphPi, SC 2020, section IV-D),
modulo 2**64 or, where values may pass that, modulo a prime below 2**31 at a time.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from cusubmatch.engines.gpu.runtime.cuda import Target
from cusubmatch.engines.gpu.search import program as p
from cusubmatch.engines.gpu.search.candidate_lists import Lists
from cusubmatch.engines.gpu.search.stack import Stack

__all__ = ["FULL_SUM", "SURE_BITS", "SuffixFunctions", "suffix_functions"]

U, L = np.uint32, np.uint64
SURE_BITS = 57  # values of so many bits are summed as they are:
FULL_SUM = 1 << 58  # a lane's sum that is written out; those of a warp fit 64 bits then


class SuffixFunctions(NamedTuple):
    """Device functions; `sh` is a block's shared memory, beginning with the program; `w` is where the stack begins."""

    measure: Any
    value: Any


def suffix_functions(target: Target, lists: Lists, stack: Stack, slots: int) -> SuffixFunctions:
    """The functions for `slots` partial matches a level."""
    device, lane_of = target.device, target.lane
    adjacent, field, size_up = lists.adjacent, lists.field, stack.size_up
    SLOTS, LEVEL_MASK = slots, (1 << p.LEVEL_BITS) - 1
    PREFIX, MEASURED, MEASURED_END, TESTED, TESTED_END = p.PREFIX, p.MEASURED, p.MEASURED_END, p.TESTED, p.TESTED_END
    LOSSES, LOSSES_END, VARIABLES, TESTS, TEST_WORDS = p.LOSSES, p.LOSSES_END, p.VARIABLES, p.TESTS, p.TEST_WORDS
    FACTORS, FACTORS_END, PRIME = p.FACTORS, p.FACTORS_END, p.PRIME

    @device
    def measure(sh, w, t, n, off, col, bits, masks):
        """Write what is known at the first n slots of level t and was not before."""
        lane, prefix = lane_of(), U(w + field(sh, t, PREFIX))
        answers = U(prefix + t * SLOTS)
        sizes, first = U(answers + U(sh[TEST_WORDS]) * SLOTS), U(sh[VARIABLES])
        if lane < n:
            i = U(0)
            while t == U(1) and i < U(sh[TEST_WORDS]):
                sh[U(answers + lane + i * SLOTS)] = U(0)
                i = U(i + 1)
            i, end = field(sh, t, TESTED), field(sh, t, TESTED_END)
            while i < end:
                at = U(U(sh[TESTS]) + U(i << U(1)))
                reference = U(sh[at])
                owner = U(sh[U(prefix + lane + U(reference & LEVEL_MASK) * SLOTS)])
                member = U(sh[U(prefix + lane + U(sh[U(at + 1)]) * SLOTS)])
                if adjacent(sh, off, col, bits, reference, owner, member):
                    place = U(answers + lane + U(i >> U(5)) * SLOTS)
                    sh[place] = U(U(sh[place]) | U(U(1) << U(i & U(31))))
                i = U(i + 1)
        record, end = field(sh, t, MEASURED), field(sh, t, MEASURED_END)
        while record < end:
            size_up(sh, w, record, U(sizes + U(record - first) * SLOTS), n, off, col, bits, masks)
            record = U(record + 1)

    @device
    def take_off(sh, answers, record, place):
        """Take the images that are in the set of a variable, and must not be chosen, off its size."""
        at, end = field(sh, record, LOSSES), field(sh, record, LOSSES_END)
        while at < end:
            stop, lost = U(at + U(sh[at])), U(1)
            while at < stop:
                at = U(at + 1)
                test = U(sh[at])
                lost = U(lost & U(U(sh[U(answers + U(test >> U(5)) * SLOTS)]) >> U(test & U(31))))
            sh[place] = U(U(sh[place]) - lost)
            at = U(at + 1)

    @device
    def value(sh, w, t, n):
        """The product of the factors at the lane's slot of level t, which has the whole core; 0 beyond slot n - 1."""
        lane, total, prime = lane_of(), L(0), L(sh[PRIME])
        if lane < n:
            answers = U(U(w + field(sh, t, PREFIX) + lane) + t * SLOTS)
            sizes, first = U(answers + U(sh[TEST_WORDS]) * SLOTS), U(sh[VARIABLES])
            record, end = first, field(sh, t, MEASURED_END)
            while record < end:
                take_off(sh, answers, record, U(sizes + U(record - first) * SLOTS))
                record = U(record + 1)
            at, total = U(sh[FACTORS]), L(1)
            while at < U(sh[FACTORS_END]):
                end, factor = U(at + U(sh[at])), L(0)
                while at < end:
                    product = L(L(sh[U(at + 1)]) | L(L(sh[U(at + 2)]) << L(32)))
                    at = U(at + 3)
                    stop = U(at + U(sh[at]))
                    while at < stop:
                        at = U(at + 1)
                        product = L(product * L(sh[U(sizes + U(sh[at]) * SLOTS)]))
                        if prime != L(0):
                            product = L(product % prime)
                    factor = L(factor + product)
                if prime != L(0):
                    factor = L(factor % prime)
                total = L(total * factor)
                if prime != L(0):
                    total = L(total % prime)
                at = U(at + 1)
        return total

    return SuffixFunctions(measure, value)
