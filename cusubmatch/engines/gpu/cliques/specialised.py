"""Counts that have kernels of their own: cliques of 3, 4 and 5 vertices in one symmetric relation.

Which pattern it is follows from the plan: every level touches all earlier ones by one relation, and any two vertices
can be exchanged. All else is walked.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cusubmatch.engines.gpu.cliques.cliques import Cliques
from cusubmatch.engines.gpu.cliques.orientation import orient
from cusubmatch.engines.gpu.cliques.triangles import Triangles
from cusubmatch.engines.gpu.runtime.device import Machine
from cusubmatch.graph import Graph
from cusubmatch.plan import Plan

__all__ = ["closed_counter"]

KEPT = 4


def closed_counter(gpu: Machine, graph: Graph, plan: Plan) -> Callable[[Any], int] | None:
    """A function that counts the matches, given `check(done, count)`; None if the plan is to be walked."""
    if not plan.is_closed:
        return None
    relation, k = plan.levels[1].anchors[0].relation, len(plan.levels)
    key = plan.relations[relation]

    def oriented():
        offsets, targets = graph.adjacency((key,))
        return orient(
            graph.xp, offsets[0], targets, None if key.target_labels is None else graph.labelled(key.target_labels)
        )

    def counter():
        rows = graph.cache.get("oriented", key, oriented, KEPT)
        options = {"processors": gpu.processors, "to_device": gpu.to_device}
        if k == 3:
            return Triangles(gpu.target, graph.xp, rows, **options)
        return Cliques(gpu.target, graph.xp, rows, k, **options)

    made = graph.cache.get("closed", (key, k), counter, KEPT)
    if k > 3 and len(made.unsupported):
        return None
    each = plan.pattern.automorphisms.order if plan.semantics == "homomorphism" else plan.factor
    return lambda check: each * made.count(lambda done, count: check(done, each * count))
