"""A plan's suffix as integers, for `suffix_counts`, and how sums of residues become a count again.

The array `suffix` of a program begins with the fields below; they say where its sections, and those of a state's
scratch space, begin.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cusubmatch.plan import NeighbourRows, Plan, instructions, suffix_primes, tests_of
from cusubmatch.plan.crt import chinese_remainder

__all__ = ["encode_suffix", "take_residues"]

LENGTH = 256  # vertices of the leaf that are counted together, a block

# Fields of the suffix: sections of itself, ...
VARIABLES, VARIABLES_END, TESTS, N_TESTS, BLOCK_TESTS, CODE, CODE_END, CHOICES, CHOICES_END = range(9)
N_PRIMES, N_CONSTANTS, SINGLY = 9, 10, 11  # SINGLY: sets are made at each vertex of the leaf
# ... and of the scratch space, which begins with how often residues were added, and their sums.
BLOCK, ANSWERS, SIZES, VALUES, RESIDUE_VALUES = 12, 13, 14, 15, 16
SUFFIX_FIELDS = 17

# Fields of a variable: its source as a level has it, the relation of the leaf's row (-1: none), and its losses.
KIND, SOURCE_A, SOURCE_B, WITH, LOSSES, LOSSES_END = range(6)
VARIABLE_FIELDS = 6
# A loss: tests that all must hold, by number; those that the leaf has a part in apart from the others.
SURE_TESTS, SURE_TESTS_END, LEAF_TESTS, LEAF_TESTS_END = range(4)
LOSS_FIELDS = 4
TEST_FIELDS = 3  # a test: whether, in a relation, a level's row has another level's image
CODE_FIELDS = 3
SET_TO, PLUS, TIMES, ADD, MULTIPLY = range(5)
OPERATIONS = {"set": SET_TO, "plus": PLUS, "times": TIMES, "add": ADD, "multiply": MULTIPLY}

SURE_BITS = 60  # values of fewer bits are summed as they are


def encode_suffix(
    plan: Plan, capacities: Sequence[int], kinds: tuple[int, int, int]
) -> tuple[list[int], np.ndarray, int]:
    """The fields, the constants (primes, then those of the polynomial modulo 2**64 and each prime), scratch words.

    Parameters
    ----------
    capacities : sequence of int
        Longest row of each relation.
    kinds : of sources: none, a row, a set
    """
    suffix, leaf = plan.suffix, plan.walked - 1
    if suffix is None:
        raise ValueError(f"plan: expected one with a suffix, got one that ends in {plan.leaf_mode!r}")
    words = [0] * SUFFIX_FIELDS

    def section(values):
        words.extend(values)
        return len(words) - len(values), len(words)

    tests = sorted(
        {test for variable in suffix.variables for loss in variable.losses for test in tests_of(plan.relations, loss)},
        key=lambda test: (leaf not in test[1:], test),
    )
    words[N_TESTS], words[BLOCK_TESTS] = len(tests), sum(leaf in test[1:] for test in tests)
    words[TESTS], _ = section([word for test in tests for word in test])
    variables: list[int] = []
    for variable in suffix.variables:
        if variable.source is None:
            source = (kinds[0], 0, 0)
        elif isinstance(variable.source, NeighbourRows):
            source = (kinds[1], *variable.source)
        else:
            source = (kinds[2], variable.source, 0)
        losses: list[int] = []
        for loss in variable.losses:
            loss_tests = [tests.index(test) for test in tests_of(plan.relations, loss)]
            losses += section([t for t in loss_tests if t >= words[BLOCK_TESTS]])
            losses += section([t for t in loss_tests if t < words[BLOCK_TESTS]])
        variables += [*source, -1 if variable.row is None else variable.row.relation, *section(losses)]
    words[VARIABLES], words[VARIABLES_END] = section(variables)
    code = instructions(suffix.factors)
    constants: list[int] = []
    numbers: list[int] = []
    for operation, register, argument in code:
        operand = argument
        if operation in ("set", "plus"):
            operand = len(constants)
            constants.append(argument)
        numbers += [OPERATIONS[operation], register, operand]
    words[CODE], words[CODE_END] = section(numbers)
    words[CHOICES], words[CHOICES_END] = section(suffix.choices)
    primes = suffix_primes(plan, capacities, SURE_BITS)
    words[N_PRIMES], words[N_CONSTANTS] = len(primes), len(constants)
    words[SINGLY] = any(step.when == leaf for step in plan.steps) or any(
        isinstance(variable.source, NeighbourRows) and variable.source.level == leaf for variable in suffix.variables
    )
    registers = 1 + max(step.register for step in code)
    words[BLOCK] = 1 + len(primes)
    words[ANSWERS] = words[BLOCK] + LENGTH
    words[SIZES] = words[ANSWERS] + max(len(tests), 1) * LENGTH
    words[VALUES] = words[SIZES] + len(suffix.variables) * LENGTH
    words[RESIDUE_VALUES] = words[VALUES] + registers * LENGTH
    wrapped = [(constant + (1 << 63)) % (1 << 64) - (1 << 63) for constant in constants]
    rows = [wrapped, *([constant % prime for constant in constants] for prime in primes)]
    table = np.array([*primes, *(word for row in rows for word in row)], np.int64)
    return words, table, words[RESIDUE_VALUES] + registers


def take_residues(sums: np.ndarray, primes: Sequence[int]) -> int:
    """The number that sums of residues stand for (Chinese remainders), and set them to zero.

    sums[0] says how many residues were added to each of sums[1:].
    """
    if not sums[0]:
        return 0
    value = chinese_remainder(sums[1:].tolist(), primes)
    sums[:] = 0
    return value
