"""The plan: everything an engine needs to find a pattern in a graph, as data, and readable.

Each level names its vertex, the source of its candidates (a row of the graph or a candidate set made earlier), and the
restrictions and inequalities that remain to be tested. A count may end before the last level: with the size of a
candidate set, with the pairs of a candidate set for two interchangeable last levels, or with a suffix of any length.
Beside the walk, a plan may hold another way of counting: tables, supergraphs or independent sets of leaves. No pattern
is known by name. `planner` makes plans.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from cusubmatch.graph import Relation
from cusubmatch.pattern import Pattern
from cusubmatch.plan.constraints import LabelNames
from cusubmatch.plan.reuse import NeighbourRows, SetOperation
from cusubmatch.plan.suffix.suffix_plan import Suffix

if TYPE_CHECKING:
    from cusubmatch.plan.asked import Asked
    from cusubmatch.plan.conditioning import ConditioningPlan
    from cusubmatch.plan.decomposition.table_plan import TablePlan
    from cusubmatch.plan.independent_leaves import IndependentPlan
    from cusubmatch.plan.order import CostedOrder

__all__ = ["Level", "Plan", "SupergraphPlan", "SupergraphTerm"]

SPECIALISED_CLIQUE_SIZES = (3, 4, 5)
SUPERGRAPH_MARGIN = 1.5  # walking is left out where supergraphs are estimated to be so many times cheaper


class Level(NamedTuple):
    """One level of the matching order.

    Attributes
    ----------
    vertex : int
        The pattern vertex that is matched here.
    source : NeighbourRows, int or None
        Where its candidates come from: a row, a candidate set, or (level 0) all candidates of the vertex.
    backward_neighbours, forbidden : tuple of NeighbourRows
        Rows that its image lies in, and rows that it does not lie in.
    bounds : tuple of int
        Levels whose image bounds its image in rank: all its restrictions.
    deferred_restrictions : tuple of int
        The restrictions that were not yet applied when its source was made.
    injectivity_checks : tuple of int
        Levels whose image it must be compared with.
    """

    vertex: int
    source: NeighbourRows | int | None
    backward_neighbours: tuple[NeighbourRows, ...]
    forbidden: tuple[NeighbourRows, ...]
    bounds: tuple[int, ...]
    deferred_restrictions: tuple[int, ...]
    injectivity_checks: tuple[int, ...]


@dataclass(frozen=True)
class Plan:
    """How a pattern is matched.

    Attributes
    ----------
    relations : sequence of Relation
        What `NeighbourRows.relation` indexes.
    levels : tuple of Level
    steps : tuple of SetOperation
        Candidate sets, in the order in which they are made.
    sizes : tuple of float
        Candidates of each pattern vertex.
    ascending : bool
        A restriction asks the later vertex to be of higher rank (degree) if True, lower if False.
    method : {"lists", "bitmaps", "warps"}
    leaf_mode : {"rows", "size", "choose", "ordered", "square", "suffix"}
        What happens at the end. Rows come out; or the last level is counted by the size n of its candidate set; or the
        last two levels by n(n-1)/2, n(n-1) or n*n; or the suffix is counted.
    factor, divisor : int
        A count is multiplied by `factor` and then divided by `divisor`. Where every embedding is wanted, the factor is
        the number of automorphisms. With a suffix it is the number of automorphisms that the restrictions on the core
        leave out, and for unique matches the divisor is the number of all. Each row stands for `factor` embeddings,
        its images under the automorphisms.
    order : CostedOrder
        The vertices of the levels, and what each level is expected to find and all of them to take.
    suffix : Suffix or None
    engine, why : str
        The engine that was chosen, and the reason.
    tables : TablePlan or None
        The count by decomposition. It is used if it is expected to be cheaper than walking, or if walking takes too
        long.
    supergraphs : SupergraphPlan or None
        The same for induced matches: their count from the counts of supergraphs.
    conditioning : ConditioningPlan or None
        The same on a candidate graph: the count by recursive conditioning.
    columns : tuple of int
        The pattern vertices whose images make a row, in this order: the named ones, unless rows are to be sorted.
    independent : IndependentPlan or None
        The same for induced matches: their count by independent sets of leaves.
    arcs : dict or None
        Of a plan for a candidate graph, the arcs that it has for each ordered pair of pattern vertices with an edge.
    label_names : LabelNames
        For the text.
    asked : Asked or None
        The conditions of the call, if it has any. `pattern` then has them as labels of a refined graph.
    kept : tuple of str
        What each condition on one element keeps, for the text.
    beside : bool
        Whether the host counts at the same time; then rivals and other ways are looked for when the walk takes long.
    provisional : bool
        Whether rivals were left out of a trial, since their kernels were not compiled yet: the next call plans anew.
    """

    pattern: Pattern
    semantics: str
    unique: bool
    relations: Sequence[Relation]
    levels: tuple[Level, ...]
    steps: tuple[SetOperation, ...]
    sizes: tuple[float, ...]
    ascending: bool
    method: str
    leaf_mode: str
    factor: int
    order: CostedOrder = field(compare=False)
    divisor: int = 1
    suffix: Suffix | None = None
    engine: str = ""
    why: str = ""
    tables: TablePlan | None = None
    supergraphs: SupergraphPlan | None = None
    conditioning: ConditioningPlan | None = None
    columns: tuple[int, ...] = ()
    independent: IndependentPlan | None = None
    arcs: Mapping[tuple[int, int], float] | None = field(default=None, compare=False)
    label_names: LabelNames = field(default=LabelNames({}, {}), compare=False)
    asked: Asked | None = field(default=None, compare=False)
    kept: tuple[str, ...] = ()
    beside: bool = False
    provisional: bool = field(default=False, compare=False)

    def __str__(self) -> str:
        from cusubmatch.plan.explain.describe import describe

        return describe(self)

    def __repr__(self) -> str:
        from cusubmatch.plan.explain.describe import summarize

        return summarize(self)

    def _repr_pretty_(self, printer, _cycle) -> None:
        """What IPython prints: the whole text."""
        for index, line in enumerate(str(self).split("\n")):
            if index:
                printer.break_()
            printer.text(line)

    def _repr_html_(self) -> str:
        from cusubmatch.display import notebook

        return notebook.preformatted(str(self))

    def matches_of(self, total: int) -> int:
        """The number of matches, from the total of a walk of all first-level tasks."""
        return total * self.factor // self.divisor

    @property
    def cost(self) -> float:
        """Nanoseconds of walking."""
        return self.order.cost

    @property
    def in_parts(self) -> ConditioningPlan | TablePlan | SupergraphPlan | IndependentPlan | None:
        """The way of counting without walking the pattern itself, if there is one."""
        return self.conditioning or self.tables or self.independent or self.supergraphs

    @property
    def count_cost(self) -> float:
        """Nanoseconds of the way of counting that is tried first."""
        return self.in_parts.cost if self.in_parts is not None and self.in_parts.first else self.cost

    @functools.cached_property
    def is_clique(self) -> bool:
        """Whether it counts cliques: all pairs are adjacent in one undirected relation, and all are interchangeable."""
        relations = {row.relation for level in self.levels for row in level.backward_neighbours}
        return (
            self.leaf_mode == "size"
            and len(relations) == 1
            and self.relations[next(iter(relations))].direction == "any"
            and all(len(level.backward_neighbours) == i for i, level in enumerate(self.levels))
            and self.pattern.automorphisms.order == math.factorial(len(self.levels))
        )

    @property
    def where(self) -> str:
        """Where its costs arise, in words."""
        return "on the GPU" if self.method == "warps" else "on one core"

    @functools.cached_property
    def is_specialised(self) -> bool:
        """Whether the GPU has kernels for this clique."""
        plain = self.method == "warps" and self.is_clique and not self.pattern.conditions
        return plain and len(self.levels) in SPECIALISED_CLIQUE_SIZES

    @property
    def walked(self) -> int:
        """The number of levels that are visited; those after them are counted."""
        if self.suffix is not None:
            return len(self.levels) - len(self.suffix.choices)
        return len(self.levels) - {"rows": 0, "size": 1}.get(self.leaf_mode, 2)


class SupergraphTerm(NamedTuple):
    """The plan of counting a supergraph, and what the count is multiplied by."""

    plan: Plan
    factor: int


@dataclass(frozen=True)
class SupergraphPlan:
    """An induced count as a sum of other counts.

    Attributes
    ----------
    terms : tuple of SupergraphTerm
    cost : float
        Nanoseconds of all terms.
    walking : float
        Estimated nanoseconds of walking instead.
    """

    terms: tuple[SupergraphTerm, ...]
    cost: float
    walking: float

    @property
    def first(self) -> bool:
        """Whether the sum is expected to cost less than walking, by a margin."""
        return self.cost * SUPERGRAPH_MARGIN < self.walking
