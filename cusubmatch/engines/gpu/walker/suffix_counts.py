"""A suffix counted by warps: sizes of sets and tests as they become known, and the value of each match of the core.

What partial matches have in common is found once: a slot carries what is known of the suffix at its level (see
`suffix_layout`). The sizes of all slots of a level are found by the whole warp, as weights are. At a complete core a
lane takes the lost vertices off its sizes and adds up the monomials of each factor (GraphPi, SC 2020, section IV-D),
modulo 2**64 or, where values may pass that, modulo a prime below 2**31 at a time.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from cusubmatch.engines.gpu.runtime.cuda import Target
from cusubmatch.engines.gpu.walker import program_format as p
from cusubmatch.engines.gpu.walker.stack import Stack
from cusubmatch.engines.gpu.walker.variant import Variant

__all__ = ["LANE_SUM_LIMIT", "SuffixFunctions", "suffix_functions"]

U, L = np.uint32, np.uint64
LEVEL_MASK = (1 << p.LEVEL_BITS) - 1
LANE_SUM_LIMIT = 1 << 58  # a lane's sum that is written out: of values of at most 57 bits, a warp's fit 64 bits then


class SuffixFunctions(NamedTuple):
    """Device functions; `sh` is a block's shared memory, which begins with the program; `w` is where the stack begins.

    Attributes
    ----------
    measure : (sh, w, t, n, graph)
        Write what is known at the first n slots of level t and was not before.
    value : (sh, w, t, n) -> uint64
        The product of the factors at the lane's slot of level t, which has the whole core; 0 beyond slot n - 1.
    """

    measure: Any
    value: Any


def suffix_functions(target: Target, stack: Stack, variant: Variant) -> SuffixFunctions:
    """The functions for one variant of the walker."""
    return SuffixFunctions(_measure_function(target, stack, variant), _value_function(target, stack, variant))


def _measure_function(target, stack, variant):
    """What becomes known of a suffix at a level."""
    lane_of, adjacent, field = target.lane, stack.access.adjacent, stack.access.field
    measure_set = stack.sizes.measure_set
    SLOTS = variant.slots

    @target.device
    def measure(sh, w, t, n, graph):
        lane, prefix = lane_of(), U(w + field(sh, t, p.PREFIX))
        answers = U(prefix + t * SLOTS)
        sizes, first = U(answers + U(sh[p.TEST_WORDS]) * SLOTS), U(sh[p.VARIABLES])
        if lane < n:
            i = U(0)
            while t == U(1) and i < U(sh[p.TEST_WORDS]):
                sh[U(answers + lane + i * SLOTS)] = U(0)
                i = U(i + 1)
            i, end = field(sh, t, p.TESTED), field(sh, t, p.TESTED_END)
            while i < end:
                at = U(U(sh[p.TESTS]) + U(i << U(1)))
                reference = U(sh[at])
                owner = U(sh[U(prefix + lane + U(reference & LEVEL_MASK) * SLOTS)])
                member = U(sh[U(prefix + lane + U(sh[U(at + 1)]) * SLOTS)])
                if adjacent(sh, graph, reference, owner, member):
                    place = U(answers + lane + U(i >> U(5)) * SLOTS)
                    sh[place] = U(U(sh[place]) | U(U(1) << U(i & U(31))))
                i = U(i + 1)
        record, end = field(sh, t, p.MEASURED), field(sh, t, p.MEASURED_END)
        while record < end:
            measure_set(sh, w, record, U(sizes + U(record - first) * SLOTS), n, graph)
            record = U(record + 1)

    return measure


def _value_function(target, stack, variant):
    """The value of the suffix at a match of the core."""
    lane_of, field = target.lane, stack.access.field
    take_off, factor_value = _loss_function(target, stack, variant), _factor_function(target, variant)
    SLOTS = variant.slots

    @target.device
    def value(sh, w, t, n):
        lane, total, prime = lane_of(), L(0), L(sh[p.PRIME])
        if lane < n:
            answers = U(U(w + field(sh, t, p.PREFIX) + lane) + t * SLOTS)
            sizes, first = U(answers + U(sh[p.TEST_WORDS]) * SLOTS), U(sh[p.VARIABLES])
            record, end = first, field(sh, t, p.MEASURED_END)
            while record < end:
                take_off(sh, answers, record, U(sizes + U(record - first) * SLOTS))
                record = U(record + 1)
            at, total = U(sh[p.FACTORS]), L(1)
            while at < U(sh[p.FACTORS_END]):
                end = U(at + U(sh[at]))
                total = L(total * factor_value(sh, sizes, at, end, prime))
                if prime != L(0):
                    total = L(total % prime)
                at = U(end + 1)
        return total

    return value


def _factor_function(target, variant):
    """The value of one factor."""
    SLOTS = variant.slots

    @target.device
    def factor_value(sh, sizes, at, end, prime):
        """The sum of the monomials that stand behind word `at`, up to word `end`, at the lane's sizes."""
        factor = L(0)
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
        return factor

    return factor_value


def _loss_function(target, stack, variant):
    """Taking off a variable's size what must not be chosen."""
    field = stack.access.field
    SLOTS = variant.slots

    @target.device
    def take_off(sh, answers, record, address):
        """Take the vertices that are in the set of a variable, and must not be chosen, off its size."""
        at, end = field(sh, record, p.LOSSES), field(sh, record, p.LOSSES_END)
        while at < end:
            stop, lost = U(at + U(sh[at])), U(1)
            while at < stop:
                at = U(at + 1)
                test = U(sh[at])
                lost = U(lost & U(U(sh[U(answers + U(test >> U(5)) * SLOTS)]) >> U(test & U(31))))
            sh[address] = U(U(sh[address]) - lost)
            at = U(at + 1)

    return take_off
