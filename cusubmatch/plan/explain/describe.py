"""A plan in words: what each level intersects, compares and reuses, and how many candidates are expected.

N(a) are the neighbours of the vertex matched to a; N_out(a) and N_in(a) are those along edges from it and to it.
S1, S2, ... are candidate sets.
"""

from __future__ import annotations

from cusubmatch.plan.explain.describe_supergraphs import lines_of_supergraphs
from cusubmatch.plan.explain.describe_tables import lines_of_tables
from cusubmatch.plan.explain.words import duration, labels_text, vertex_names
from cusubmatch.plan.reuse import NeighbourRows

__all__ = ["describe", "summarize"]

LEAF_MODE = {
    "size": "counted by the size n of its candidate set",
    "choose": "counted together with the level before: n(n-1)/2 pairs from a candidate set of size n",
    "ordered": "counted together with the level before: n(n-1) ordered pairs from a candidate set of size n",
    "square": "counted together with the level before: n*n pairs from a candidate set of size n",
}
MAX_TERMS = 8  # of a polynomial that is shown
MAX_PATTERN_CHARACTERS = 80  # of a pattern in a summary


def describe(plan) -> str:
    """Describe a plan in several lines of text."""
    return _PlanText(plan).whole()


def summarize(plan) -> str:
    """Describe a plan in one line of text."""
    return _PlanText(plan).summary()


class _PlanText:
    def __init__(self, plan):
        self.plan = plan
        self.names = vertex_names(plan.pattern)
        self.sets = {step.target: f"S{number}" for number, step in enumerate(plan.steps, 1)}

    def whole(self):
        plan = self.plan
        lines = [f"{self._asked()!r}", f"{plan.semantics}, {self._wanted()}; {self._way()}"]
        lines += [f"engine: {plan.engine} ({plan.why})"] if plan.engine else []
        lines += self._conditions()
        if plan.conditioning is not None and plan.conditioning.first:
            return "\n".join(lines + self._conditioning())
        if plan.in_parts is not None and plan.in_parts.first:
            return "\n".join(lines + (lines_of_tables(plan) if plan.tables is not None else self._induced()))
        lines += [*self._method(), *self._candidate_graph(), ""]
        for index, level in enumerate(plan.levels):
            lines += self._level(index, level)
        if plan.suffix is not None:
            lines += self._suffix(plan.suffix)
        lines += [*self._factors(), "", f"estimated time: {duration(plan.cost)} {plan.where}"]
        if plan.in_parts is not None:
            way = (
                "decomposition takes"
                if plan.tables is not None or plan.conditioning is not None
                else "counts of supergraphs take"
            )
            lines.append(f"if walking takes much longer, {way} over: {duration(plan.in_parts.cost)}")
        if plan.beside:
            lines += [
                "beside the walk, the host's cores count on a candidate graph; the first answer is taken",
                "if both take long, the walk begins again by the plan that wins a trial",
            ]
        return "\n".join(lines)

    def summary(self):
        plan, pattern = self.plan, repr(self._asked())
        if len(pattern) > MAX_PATTERN_CHARACTERS:
            pattern = f"pattern of {len(plan.pattern)} vertices and {len(plan.pattern.edges)} edges"
        way = self._way().partition(";")[0]
        cost = f"estimated {duration(plan.count_cost)} {plan.where}"
        return f"Plan({pattern}; {plan.semantics}, {self._wanted()}; {way}; {plan.engine or 'no engine yet'}, {cost})"

    def _asked(self):
        """The pattern as it was asked for."""
        return self.plan.pattern if self.plan.asked is None else self.plan.asked.pattern

    def _conditions(self):
        """Lines about conditions that were decided before the search."""
        if not self.plan.kept:
            return []
        return ["conditions, as masks made before the search, keep", *(f"         {kept}" for kept in self.plan.kept)]

    def _wanted(self):
        unique = self.plan.unique and self.plan.semantics != "homomorphism"
        return "one match per subgraph" if unique else "every embedding"

    def _way(self):
        plan = self.plan
        if plan.conditioning is not None and plan.conditioning.first:
            return "count by recursive conditioning"
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

    def _conditioning(self):
        """Lines about a count by conditioning."""
        plan = self.plan
        rival = "before a walk is planned"
        if plan.conditioning.cost < plan.cost:
            rival = f"instead of {duration(plan.cost)} by walking"
        times = f"{duration(plan.conditioning.cost)} on one core, {rival}"
        return [
            "method: a vertex is matched to each of its candidates; what is left falls into components, whose counts",
            "        are multiplied, and kept for the next time that they have the same candidates",
            *self._candidate_graph(),
            "",
            f"estimated time: at least {times}",
            "if it takes much longer, its vertices are eliminated one by one, or the pattern is walked",
        ]

    def _induced(self):
        """Lines about the counts that replace walking induced matches."""
        independent = self.plan.independent
        if independent is None:
            return lines_of_supergraphs(self.plan)
        core = ", ".join(self.names[v] for v in independent.core.names)
        leaves = ", ".join(self.names[v] for v in independent.leaves)
        times = f"{duration(independent.cost)} on one core, instead of {duration(independent.walking)} by walking"
        return [
            f"method: at each match of {core}, the independent sets of {len(independent.leaves)} vertices among the",
            f"        common candidates of {leaves} are counted: a coefficient of the product of the",
            "        independence polynomials of the components of the subgraph that these candidates induce",
            "",
            f"estimated time: {times}",
            "if too many of these candidates are adjacent to each other, the pattern is walked",
        ]

    def _method(self):
        plan = self.plan
        if plan.is_specialised:
            return ["method: kernels for cliques, on bitmaps of the neighbours of higher rank (by degree)"]
        if plan.method == "warps":
            method = "a warp extends a batch of partial matches; it reads the shortest row and searches in the others"
        elif plan.method == "bitmaps":
            method = f"bitmaps of the neighbourhood of {self._name(0)}, to which all other vertices are adjacent"
        else:
            method = "intersections of sorted rows of neighbours"
        lines = [f"method: {method}"]
        if any(relation.direction != "any" for relation in plan.relations):
            lines.append("rows: N_out(a) and N_in(a) are the neighbours along edges from the match of a, and to it")
        elif len(plan.levels) > 1:
            lines.append("rows: N(a) are the neighbours of the match of a")
        if any(level.bounds for level in plan.levels):
            side = "higher" if plan.ascending else "lower"
            lines.append(f"symmetry: vertices are ranked by degree; of equivalent ones, later levels get a {side} rank")
        return lines

    def _candidate_graph(self):
        """Lines about the candidate graph."""
        plan = self.plan
        if plan.arcs is None:
            return []
        sizes = ", ".join(f"{name} {size:,.0f}" for name, size in zip(self.names, plan.sizes, strict=True))
        arcs = ", ".join(
            f"{self.names[e.source]}-{self.names[e.target]} {plan.arcs[e.source, e.target]:,.0f}"
            for e in plan.pattern.edges
        )
        return [f"candidate graph: rows hold candidates only; candidates {sizes};", f"        arcs {arcs}"]

    def _factors(self):
        """Lines about what a sum is divided and multiplied by."""
        plan, lines = self.plan, []
        if plan.divisor > 1:
            lines += ["", f"the sum is divided by {plan.divisor:,}: it counts each match that often"]
        if plan.factor > 1 and plan.suffix is not None:
            lines += [
                "",
                f"the sum is multiplied by {plan.factor:,}, the automorphisms that the restrictions leave out",
            ]
        elif plan.factor > 1 and plan.leaf_mode == "rows":
            lines += ["", f"each row gives {plan.factor:,} rows, one for every automorphism of the pattern"]
        elif plan.factor > 1:
            lines += ["", f"the count is multiplied by the number of the pattern's automorphisms, {plan.factor:,}"]
        return lines

    def _level(self, index, level):
        plan, makes_sets = self.plan, self.plan.method != "warps"
        visited = plan.suffix is None or index < plan.walked
        source = f"all {plan.sizes[level.vertex]:,.0f} candidates"
        if index and makes_sets and visited:
            source = self._source(level.source)
        elif index:
            source = " ∩ ".join(map(self._source, level.backward_neighbours))
            source += "".join(f" minus {self._source(row)}" for row in level.forbidden)
        bounds = level.deferred_restrictions if makes_sets else level.bounds
        conditions = [f"rank {'above' if plan.ascending else 'below'} {self._name(i)}" for i in bounds]
        conditions += [f"not {self._name(i)}" for i in level.injectivity_checks]
        text = f"level {index}: {self._name(index)} from {', '.join([source, *conditions])}"
        reached = f"~{plan.order.matches[index]:,.3g} partial matches" if visited else "not visited"
        expected = f"   ~{plan.order.candidates[index]:,.3g} candidates for each, {reached}"
        lines = [text + expected if index else text]
        if index == len(plan.levels) - 1 and plan.leaf_mode in LEAF_MODE:
            lines.append(f"         {LEAF_MODE[plan.leaf_mode]}")
        lines += [self._step(step) for step in plan.steps if step.when == index and makes_sets]
        return lines

    def _suffix(self, suffix):
        """How the suffix is counted: its factors, and what the variables are."""
        value = " ".join(self._factor(factor, len(suffix.factors) == 1) for factor in suffix.factors)
        core = f"levels 0 to {self.plan.walked - 1}" if self.plan.walked > 1 else "level 0"
        lines = [f"each match of {core} adds {value}, where"]
        for number, variable in enumerate(suffix.variables, 1):
            rows = (variable.source, variable.row) if self.plan.method != "warps" else variable.rows
            size = " ∩ ".join(self._source(part) for part in rows if part is not None)
            excluded = ", ".join(self._loss(loss) for loss in variable.losses)
            lines.append(f"         n{number} = |{size}|{f' less {excluded}' if excluded else ''}")
        return lines

    def _factor(self, factor, alone):
        numbers = {f"n{i + 1}" for monomial in factor for i in monomial}
        if len(numbers) == 1 and len(factor) > 1:
            (number,) = numbers
            terms = [number, *(f"({number}-{i})" for i in range(1, max(map(len, factor))))]
            return "".join(terms[:MAX_TERMS]) + ("..." if len(terms) > MAX_TERMS else "")
        by_length = sorted(factor.items(), key=lambda term: (-len(term[0]), term[0]))
        value = " ".join(self._term(*term) for term in by_length[:MAX_TERMS]).removeprefix("+ ")
        value += f" and {len(by_length) - MAX_TERMS} terms more" if len(by_length) > MAX_TERMS else ""
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
        operation = {"intersect": " ∩ ", "subtract": " minus ", "filter": ""}[step.operation]
        text = f"{self._source(step.source)}{operation}{self._source(step.operand) if step.operand else ''}"
        limits = [f"rank {'above' if self.plan.ascending else 'below'} {self._name(i)}" for i in step.bounds]
        if step.mask is not None:
            limits.append(f"candidates of {self.names[step.mask]}")
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
        direction, edge_labels, target_labels, _ = self.plan.relations[source.relation]
        edge_names, vertex_label_names = self.plan.label_names
        row = {"any": "N", "out": "N_out", "in": "N_in"}[direction]
        labels = f", edge label {labels_text(edge_names.get(edge_labels))}" if edge_labels is not None else ""
        labels += f", label {labels_text(vertex_label_names.get(target_labels))}" if target_labels is not None else ""
        return f"{row}({self._name(source.level)}{labels})"

    def _name(self, level):
        return self.names[self.plan.levels[level].vertex]
