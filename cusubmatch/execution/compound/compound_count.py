"""Counts of patterns with parts: sums over lengths, and products over what is shared.

A match with n extensions by each OPTIONAL part becomes the product of max(1, n) rows. Where n depends on the shared
vertices alone (`part_products.py`), no match is joined. Else the rows of each match are counted.
"""

from __future__ import annotations

import dataclasses

from cusubmatch.engines.runs import ProgressCallback
from cusubmatch.errors import ResultTooLarge
from cusubmatch.execution.compound.joined_options import group_of_whole
from cusubmatch.execution.compound.joined_query import joined_query
from cusubmatch.execution.compound.part_products import is_independent, part_products
from cusubmatch.execution.compound.row_keys import sum_of_products
from cusubmatch.execution.compound.simple_calls import SimpleCalls
from cusubmatch.execution.query_options import QueryOptions
from cusubmatch.graph import Graph
from cusubmatch.pattern import Pattern

__all__ = ["JoinedCount"]


class JoinedCount:
    """A count of matches with OPTIONAL parts, or with EXISTS parts on several vertices.

    Parameters
    ----------
    graph : Graph
    calls : SimpleCalls
    asked : QueryOptions
        With the parameters of all parts.
    deadline : float or None

    Attributes
    ----------
    matches : int
        Counted so far.
    """

    def __init__(self, graph: Graph, calls: SimpleCalls, asked: QueryOptions, deadline: float | None):
        self._graph, self._calls, self._asked, self._deadline = graph, calls, asked, deadline
        self.matches = 0

    def count(self, progress: ProgressCallback | None) -> int:
        """The number of rows.

        Raises
        ------
        DeadlinePassed
        """
        for number, whole in enumerate(self._calls.wholes):
            total = self._product(whole, number, progress) if self._independent(whole) else None
            if total is not None:
                self.matches += total
                continue
            query = joined_query(self._graph, self._calls, self._asked, self._deadline, number)._replace(parts=())
            for rows in query.counts(progress):
                self.matches += rows
        return self.matches

    def by_products(self, whole: Pattern) -> bool:
        """Whether matches are counted without being joined, where the images of what is shared fit in memory."""
        return self._independent(whole)

    def _independent(self, whole: Pattern) -> bool:
        """Whether extensions depend on the shared vertices alone."""
        return is_independent(self._graph, self._calls, whole, self._asked.semantics)

    def _product(self, whole: Pattern, number: int, progress: ProgressCallback | None) -> int | None:
        """The sum over the bindings of what is shared; None where there are too many of them."""
        try:
            found = part_products(self._graph, self._calls, self._asked, self._deadline, number, (), progress)
        except ResultTooLarge:
            return None
        asked = dataclasses.replace(self._asked, candidates=self._calls.options.candidates)
        order = group_of_whole(whole, asked, self._calls.size).order if asked.one_per_orbit else 1
        return sum_of_products(found.factors) // order
