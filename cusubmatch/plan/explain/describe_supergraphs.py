"""A count of induced matches by other counts in words: which supergraphs, how often, how each is counted, and why."""

from __future__ import annotations

__all__ = ["lines_of_supergraphs"]

COLUMN = 84  # where costs stand
MOST_TERMS = 12  # written out


def lines_of_supergraphs(plan) -> list[str]:
    """Lines about the supergraphs of a plan, from the method to the cost."""
    found, order = plan.supergraphs, plan.pattern.automorphisms.order
    lines = [
        "method: all copies are counted, and those with further edges taken off by inclusion and exclusion: a",
        "        supergraph on the same vertices counts as often as it has copies of the pattern, with a minus sign",
        "        where it has an odd number of edges more",
        "",
        "matches: the sum of",
    ]
    own = len(plan.pattern.edges)
    for term in found.terms[:MOST_TERMS]:
        added = [_pair(term.plan.pattern, edge) for edge in term.plan.pattern.edges[own:]]
        what = f"with {', '.join(added)}" if added else "of the pattern itself"
        lines.append(f"{f'  {term.factor:+,} x copies {what}, {_way(term.plan)}':<{COLUMN}} ~{_ms(term)} ms")
    if len(found.terms) > MOST_TERMS:
        lines.append(f"  and {len(found.terms) - MOST_TERMS} more terms of this kind")
    if not plan.unique and order > 1:
        lines += ["", f"the sum is multiplied by the number of the pattern's automorphisms, {order:,}"]
    costs = f"{found.cost / 1e9:,.3g} s {plan.where}, against {found.walking / 1e9:,.3g} s by walking induced matches"
    return [*lines, "", f"estimated work: {costs}"]


def _pair(pattern, edge):
    a, b = (f"({pattern.names[v] if pattern.names[v] is not None else f'#{v + 1}'})" for v in edge[:2])
    return f"{a}--{'>' if edge.directed else ''}{b}"


def _way(plan):
    if plan.tables is not None and plan.tables.first:
        return "by decomposition"
    return "by walking" if plan.suffix is None else "by walking a core"


def _ms(term):
    return f"{term.plan.count_cost / 1e6:,.3g}"
