"""A plan's suffix as the walker needs it: what is known at which level, and what is carried along until the end.

At a partial match of levels 0 to t - 1 are known the variables whose rows belong to these levels, and those tests,
whether one image lies in a row of another, whose images both do. A slot carries bits of the tests, then the sizes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from cusubmatch.plan import Plan, tests_of

__all__ = ["SuffixLayout", "suffix_layout"]

WORD = 32  # tests


class SuffixLayout(NamedTuple):
    """Variables and tests in the order in which they become known.

    Attributes
    ----------
    rows : list of tuple of Rows
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
        return -(-len(self.tests) // WORD)

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
    asked = [[tests_of(plan.relations, loss) for loss in some.losses] for some in suffix.variables]
    tests = sorted({test for some in asked for loss in some for test in loss}, key=lambda test: (max(test[1:]), test))
    known = [1 + max(row.level for row in some.rows) for some in suffix.variables]
    order = sorted(range(len(known)), key=known.__getitem__)
    place = {variable: i for i, variable in enumerate(order)}
    choosers = [suffix.variables[i].choosers for i in order]
    layout = SuffixLayout(
        rows=[suffix.variables[i].rows for i in order],
        known=[known[i] for i in order],
        losses=[[[tests.index(test) for test in loss] for loss in asked[i]] for i in order],
        least=choosers if injective else [min(many, 1) for many in choosers],
        tests=tests,
        test_levels=[1 + max(test[1:]) for test in tests],
        factors=[
            {tuple(place[i] for i in some): weight for some, weight in factor.items()} for factor in suffix.factors
        ],
        carried=[],
    )
    carried = [layout.test_words + layout.variables_known(t) for t in range(plan.walked + 1)]
    return layout._replace(carried=carried)
