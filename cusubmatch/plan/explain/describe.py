"""A plan in words: per level what is intersected, compared and reused, and how many candidates are expected."""

from __future__ import annotations

from cusubmatch.plan.explain.describe_supergraphs import lines_of_supergraphs
from cusubmatch.plan.explain.describe_tables import lines_of_tables
from cusubmatch.plan.reuse import NeighbourRows

__all__ = ["describe", "summarize"]

LEAF_MODE = {
    "size": "counted by the size n of its candidate set",
    "choose": "counted together with the level before: n(n-1)/2 pairs from a candidate set of size n",
    "ordered": "counted together with the level before: n(n-1) ordered pairs from a candidate set of size n",
    "square": "counted together with the level before: n*n pairs from a candidate set of size n",
}
MOST_TERMS = 8  # of a polynomial that is shown
MOST_CHARACTERS = 80  # of a pattern in a summary


def describe(plan) -> str:
    """Several lines of text about a plan."""
    return _Text(plan).whole()


def summarize(plan) -> str:
    """One line of text about a plan."""
    return _Text(plan).summary()


class _Text:
    def __init__(self, plan):
        self.plan = plan
        self.names = [str(name) if name is not None else f"()#{v + 1}" for v, name in enumerate(plan.pattern.names)]
        self.sets = {step.target: f"S{i + 1}" for i, step in enumerate(plan.steps)}

    def whole(self):
        plan = self.plan
        in_parts = plan.in_parts is not None and plan.in_parts.first
        lines = [
            f"{plan.pattern!r}",
            f"{plan.semantics}, {self._wanted()}; {self._way()}",
            f"engine: {plan.engine} ({plan.why})" if plan.engine else "",
        ]
        if in_parts:
            parts = lines_of_tables(plan) if plan.tables is not None else self._otherwise()
            return "\n".join([line for line in lines if line] + parts)
        lines += [self._method(), ""]
        for index, level in enumerate(plan.levels):
            lines += self._level(index, level)
        if plan.suffix is not None:
            lines += self._suffix(plan.suffix)
        if plan.divisor > 1:
            lines += ["", f"the sum is divided by {plan.divisor:,}: every subgraph is counted that often"]
        if plan.factor > 1 and plan.suffix is not None:
            lines += ["", f"the sum is multiplied by {plan.factor:,}, the symmetries that the restrictions leave out"]
        elif plan.factor > 1:
            once = "every row is turned by" if plan.leaf_mode == "rows" else "the count is multiplied by the number of"
            lines += ["", f"{once} the pattern's automorphisms, {plan.factor:,}"]
        lines += ["", f"estimated work: {plan.cost / 1e9:,.3g} s {plan.where}"]
        if plan.in_parts is not None:
            way = "by decomposition" if plan.tables is not None else "from those of supergraphs"
            lines.append(f"if it takes much longer, the count is made {way}: {plan.in_parts.cost / 1e9:,.3g} s")
        return "\n".join(line for i, line in enumerate(lines) if line or i > 2)

    def summary(self):
        plan, pattern = self.plan, repr(self.plan.pattern)
        if len(pattern) > MOST_CHARACTERS:
            pattern = f"pattern of {len(plan.pattern)} vertices and {len(plan.pattern.edges)} edges"
        way = self._way().partition(";")[0]
        cost = f"estimated {plan.count_cost / 1e9:,.3g} s {plan.where}"
        return f"Plan({pattern}; {plan.semantics}, {self._wanted()}; {way}; {plan.engine or 'no engine yet'}, {cost})"

    def _wanted(self):
        unique = self.plan.unique and self.plan.semantics != "homomorphism"
        return "one match per subgraph" if unique else "every mapping"

    def _otherwise(self):
        """Lines about the counts that stand in for walking induced matches."""
        found = self.plan.independent
        if found is None:
            return lines_of_supergraphs(self.plan)
        core = ", ".join(self.names[v] for v in found.core.names)
        leaves = ", ".join(self.names[v] for v in found.leaves)
        return [
            f"method: at each match of {core}, the independent sets of {len(found.leaves)} vertices are counted",
            f"        among the common candidates of {leaves}, as products over the components of what these induce",
            "",
            f"estimated work: {found.cost / 1e9:,.3g} s on one core, against {found.walking / 1e9:,.3g} s by walking;",
            "if too many of these candidates touch each other, the pattern is walked",
        ]

    def _way(self):
        plan = self.plan
        if plan.independent is not None:
            return "count by independent sets"
        if plan.in_parts is not None and plan.in_parts.first:
            return "count by decomposition" if plan.tables is not None else "count from counts of supergraphs"
        if plan.suffix is None:
            return f"{'rows' if plan.leaf_mode == 'rows' else 'count'} by walking"
        core, suffix = (
            ", ".join(map(self._name, levels)) for levels in (range(plan.walked), range(plan.walked, len(plan.levels)))
        )
        return f"count by walking the core {core}; the suffix {suffix} is counted from sizes of sets"

    def _method(self):
        plan = self.plan
        if plan.is_specialised:
            return "method: kernels for cliques, on bitmaps of the neighbours of higher rank"
        if plan.method == "warps":
            how = "up to a warp's width of partial matches a level; the shortest row is read, the others are searched"
        elif plan.method == "bitmaps":
            how = f"bitmaps of the neighbourhood of {self._name(0)}, which all other vertices touch"
        else:
            how = "sorted candidate lists"
        if any(level.bounds for level in plan.levels):
            side = "higher" if plan.ascending else "lower"
            how += f"; vertices are ranked by degree, and restrictions ask for a {side} rank"
        return f"method: {how}"

    def _level(self, index, level):
        plan, kept = self.plan, self.plan.method != "warps"  # whether sets are made and kept
        visited = plan.suffix is None or index < plan.walked
        source = f"all {plan.sizes[level.vertex]:,.0f} candidates"
        if index and kept and visited:
            source = self._source(level.source)
        elif index:
            source = " ∩ ".join(map(self._source, level.backward_neighbours))
            source += "".join(f" minus {self._source(row)}" for row in level.forbidden)
        bounds = level.deferred_restrictions if kept else level.bounds
        conditions = [f"rank {'above' if plan.ascending else 'below'} {self._name(i)}" for i in bounds]
        conditions += [f"not {self._name(i)}" for i in level.injectivity_checks]
        text = f"level {index}: {self._name(index)} from {', '.join([source, *conditions])}"
        expected = f"   ~{level.candidates:,.3g} candidates each, ~{level.matches:,.3g} partial matches"
        if not visited:
            expected = f"   ~{level.candidates:,.3g} candidates each, not visited"
        lines = [text + expected if index else text]
        if index == len(plan.levels) - 1 and plan.leaf_mode in LEAF_MODE:
            lines.append(f"         {LEAF_MODE[plan.leaf_mode]}")
        lines += [self._step(step) for step in plan.steps if step.when == index and kept]
        return lines

    def _suffix(self, suffix):
        """How the suffix is counted: its factors, and what the variables are."""
        value = " ".join(self._factor(factor, len(suffix.factors) == 1) for factor in suffix.factors)
        core = f"levels 0 to {self.plan.walked - 1}" if self.plan.walked > 1 else "level 0"
        lines = [f"each match of {core} adds {value}, where"]
        for number, variable in enumerate(suffix.variables, 1):
            kept = (variable.source, variable.row) if self.plan.method != "warps" else variable.rows
            size = " ∩ ".join(self._source(part) for part in kept if part is not None)
            lost = ", ".join(self._loss(loss) for loss in variable.losses)
            lines.append(f"         n{number} = |{size}|{f' less {lost}' if lost else ''}")
        return lines

    def _factor(self, factor, alone):
        numbers = {f"n{i + 1}" for monomial in factor for i in monomial}
        if len(numbers) == 1 and len(factor) > 1:
            (number,) = numbers
            terms = [number, *(f"({number}-{i})" for i in range(1, max(map(len, factor))))]
            return "".join(terms[:MOST_TERMS]) + ("..." if len(terms) > MOST_TERMS else "")
        by_length = sorted(factor.items(), key=lambda term: (-len(term[0]), term[0]))
        value = " ".join(self._term(*term) for term in by_length[:MOST_TERMS]).removeprefix("+ ")
        value += f" and {len(by_length) - MOST_TERMS} terms more" if len(by_length) > MOST_TERMS else ""
        return value if alone or len(by_length) == 1 else f"({value})"

    def _term(self, monomial, coefficient):
        powers = [
            f"n{i + 1}" + (f"^{monomial.count(i)}" if monomial.count(i) > 1 else "") for i in dict.fromkeys(monomial)
        ]
        factors = ([] if abs(coefficient) == 1 and powers else [f"{abs(coefficient):,}"]) + powers
        return f"{'-' if coefficient < 0 else '+'} {' '.join(factors)}"

    def _loss(self, loss):
        where = " and ".join(self._source(row) for row in loss.rows)
        return f"{self._name(loss.level)}{f' if in {where}' if where else ''}"

    def _step(self, step):
        sign = {"intersect": " ∩ ", "subtract": " minus ", "filter": ""}[step.operation]
        text = f"{self._source(step.source)}{sign}{self._source(step.operand) if step.operand else ''}"
        limits = [f"rank {'above' if self.plan.ascending else 'below'} {self._name(i)}" for i in step.bounds]
        if step.mask is not None:
            limits.append(f"passing the filter of {self.names[step.mask]}")
        users = [self._name(i) for i, level in enumerate(self.plan.levels) if level.source == step.target]
        users += [self.sets[other.target] for other in self.plan.steps if other.source == step.target]
        if self.plan.suffix is not None:
            own = enumerate(self.plan.suffix.variables, 1)
            users += [f"n{i}" for i, variable in own if variable.source == step.target]
        use = f"   (for {', '.join(users)})"
        return f"         make {self.sets[step.target]} = {', '.join([text, *limits])}{use}"

    def _source(self, source):
        if not isinstance(source, NeighbourRows):
            return self.sets[source]
        direction, edge_labels, target_labels = self.plan.relations[source.relation]
        word = {"any": "N", "out": "N_out", "in": "N_in"}[direction]
        marks = [f"edge label {sorted(edge_labels)}"] if edge_labels is not None else []
        marks += [f"label {sorted(target_labels)}"] if target_labels is not None else []
        return f"{word}({self._name(source.level)}{''.join(f', {mark}' for mark in marks)})"

    def _name(self, level):
        return self.names[self.plan.levels[level].vertex]
