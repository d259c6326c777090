"""A count of induced matches by other counts in words: which supergraphs, how often, how each is counted, and why."""

from __future__ import annotations

from cusubmatch.plan.explain.words import duration, vertex_names

__all__ = ["lines_of_supergraphs"]

COST_COLUMN = 84  # where times stand
MAX_TERMS = 12  # written out


def lines_of_supergraphs(plan) -> list[str]:
    """Lines about the supergraphs of a plan, from the method to the cost."""
    supergraphs, order = plan.supergraphs, plan.pattern.automorphisms.order
    lines = [
        "method: inclusion-exclusion over the pattern and its supergraphs on the same vertices. The number of copies",
        "        of each is counted, induced or not. Its factor is the number of copies of the pattern in it, with a",
        "        minus sign where the number of added edges is odd",
        "",
        "matches: the sum of",
    ]
    own_edges = len(plan.pattern.edges)
    for term in supergraphs.terms[:MAX_TERMS]:
        added = [_edge(term.plan.pattern, edge) for edge in term.plan.pattern.edges[own_edges:]]
        counted = f"with {', '.join(added)}" if added else "of the pattern itself"
        text = f"  {term.factor:+,} x copies {counted}, {_way(term.plan)}"
        lines.append(f"{text:<{COST_COLUMN}} ~{duration(term.plan.count_cost)}")
    if len(supergraphs.terms) > MAX_TERMS:
        lines.append(f"  and {len(supergraphs.terms) - MAX_TERMS} more terms of this kind")
    if not plan.unique and order > 1:
        lines += ["", f"the sum is multiplied by the number of the pattern's automorphisms, {order:,}"]
    walking = f"instead of {duration(supergraphs.walking)} by walking induced matches"
    return [*lines, "", f"estimated time: {duration(supergraphs.cost)} {plan.where}, {walking}"]


def _edge(pattern, edge):
    names = vertex_names(pattern)
    a, b = (f"({names[v].removeprefix('()')})" for v in edge[:2])
    return f"{a}--{'>' if edge.directed else ''}{b}"


def _way(plan):
    if plan.tables is not None and plan.tables.first:
        return "by decomposition"
    return "by walking" if plan.suffix is None else "by walking a core"
