"""How a pattern will be matched: pure Python, from the pattern and the graph's statistics to a `Plan`.

Other ways of counting than walking are planned in modules that are imported when a long count asks for them.
"""

from cusubmatch.plan.constraints import SEMANTICS, Constraints, constraints_of
from cusubmatch.plan.decomposition.table_costs import TableCosts, TableSizes
from cusubmatch.plan.estimate import Cardinalities
from cusubmatch.plan.plan import Level, Plan, SupergraphPlan, SupergraphTerm
from cusubmatch.plan.planner import make_plan, make_plans, plan_of_order
from cusubmatch.plan.planning_problem import PlanningProblem, PlanOptions
from cusubmatch.plan.reuse import NeighbourRows, SetOperation
from cusubmatch.plan.suffix.polynomial import instructions
from cusubmatch.plan.suffix.suffix_plan import Loss, Suffix, Variable, suffix_primes, tests_of
from cusubmatch.plan.symmetry import implied_bounds

__all__ = [
    "SEMANTICS",
    "Cardinalities",
    "Constraints",
    "Level",
    "Loss",
    "NeighbourRows",
    "Plan",
    "PlanOptions",
    "PlanningProblem",
    "SetOperation",
    "Suffix",
    "SupergraphPlan",
    "SupergraphTerm",
    "TableCosts",
    "TableSizes",
    "Variable",
    "constraints_of",
    "implied_bounds",
    "instructions",
    "make_plan",
    "make_plans",
    "plan_of_order",
    "suffix_primes",
    "tests_of",
]
