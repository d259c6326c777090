"""A plan's suffix as the walker needs it: what is known at which level, and what is carried along until the end.

A partial match of levels 0 to t - 1 knows the variables whose rows belong to these levels, and the tests (whether one
vertex is in the row of another) whose vertices both do. A slot carries the bits of the tests, then the sizes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from cusubmatch.plan import Plan, tests_of

__all__ = ["SuffixLayout", "suffix_layout"]

WORD_TESTS = 32


class SuffixLayout(NamedTuple):
    """Variables and tests in the order in which they become known.

    Attributes
    ----------
    rows : list of tuple of NeighbourRows
        Of each variable.
    known : list of int
        Of each variable the level at whose slots it is known first.
    losses : list of list of list of int
        Of each variable what is taken off it: one for each list of tests that all hold.
    least : list of int
        Elements that the choosers of each variable need.
    tests : list of (relation, level of the row, level of the image)
    test_levels : list of int
        As `known`.
    factors : list of dict
        The coefficients of monomials, products of variables by these numbers; of polynomials whose product is counted.
    carried : list of int
        Words that a slot of each level has behind its prefix.
    """

    rows: list
    known: list[int]
    losses: list[list[list[int]]]
    least: list[int]
    tests: list[tuple[int, int, int]]
    test_levels: list[int]
    factors: list[dict[tuple[int, ...], int]]
    carried: list[int]

    @property
    def test_words(self) -> int:
        return -(-len(self.tests) // WORD_TESTS)

    def variables_known(self, t: int) -> int:
        """How many are known at slots of level t."""
        return int(np.searchsorted(self.known, t, side="right"))

    def tests_known(self, t: int) -> int:
        """The same of tests."""
        return int(np.searchsorted(self.test_levels, t, side="right"))


def suffix_layout(plan: Plan) -> SuffixLayout:
    """The layout for a plan with a suffix."""
    suffix, injective = plan.suffix, plan.semantics != "homomorphism"
    if suffix is None:
        raise ValueError(f"plan: expected one with a suffix, got one that ends in {plan.leaf_mode!r}")
    loss_tests = [[tests_of(plan.relations, loss) for loss in variable.losses] for variable in suffix.variables]
    tests = sorted(
        {test for losses in loss_tests for loss in losses for test in loss}, key=lambda test: (max(test[1:]), test)
    )
    known = [1 + max(row.level for row in variable.rows) for variable in suffix.variables]
    order = sorted(range(len(known)), key=known.__getitem__)
    number = {variable: i for i, variable in enumerate(order)}
    choosers = [suffix.variables[i].choosers for i in order]
    layout = SuffixLayout(
        rows=[suffix.variables[i].rows for i in order],
        known=[known[i] for i in order],
        losses=[[[tests.index(test) for test in loss] for loss in loss_tests[i]] for i in order],
        least=choosers if injective else [min(number_of_choosers, 1) for number_of_choosers in choosers],
        tests=tests,
        test_levels=[1 + max(test[1:]) for test in tests],
        factors=[
            {tuple(number[i] for i in monomial): weight for monomial, weight in factor.items()}
            for factor in suffix.factors
        ],
        carried=[],
    )
    carried = [layout.test_words + layout.variables_known(t) for t in range(plan.walked + 1)]
    return layout._replace(carried=carried)
