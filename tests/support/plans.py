"""Plans as an engine's tests want them: made for a graph, with options that a user never sees."""

from dataclasses import replace
from unittest.mock import patch

from cusubmatch.engines.cpu import CpuEngine
from cusubmatch.engines.cpu.tunables import Tunables
from cusubmatch.engines.registry import engine_named
from cusubmatch.plan import PlanningProblem, PlanOptions, constraints_of, make_plan


def plan_for(graph, pattern, semantics="monomorphism", unique=True, counting=True, prepared=None, local=False, **only):
    """The cheapest plan with the options `only` (see `PlanOptions`), and what it is walked on.

    Unless `only` says otherwise, no suffix is counted. With `local` it is a plan for the candidate graph.
    """
    constraints = constraints_of(pattern, graph, semantics)
    prepared = prepared or CpuEngine().prepare(graph, pattern, constraints, semantics != "homomorphism")
    candidates = prepared.estimated_by if local else prepared.candidates
    problem = PlanningProblem(
        pattern,
        prepared.candidate_graph.constraints if local else constraints,
        candidates.cardinalities,
        candidates.filters,
        graph.statistics,
        semantics=semantics,
        unique=unique,
        counting=counting,
    )
    return make_plan(problem, PlanOptions(**{"suffix": 0, **only})), prepared


def tuned(**changes):
    """Let the CPU engine of this process have other tunables for a while: a context manager."""
    return patch.object(engine_named("cpu"), "tunables", replace(Tunables(), **changes))
