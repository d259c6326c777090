"""What the names in conditions stand for: vertices and edges of the pattern.

Vertices and edges share one namespace. An anonymous element that has inline properties, `(:Account {country: 'DE'})`,
stays anonymous, so it gets no column; its conditions call it by a generated name, "(2)" for the vertex at position 2 of
`Pattern.names` and "[0]" for the edge at position 0 of `Pattern.edges`.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Literal, NamedTuple

from cusubmatch.errors import PatternError

__all__ = ["Element", "element_named", "elements_of", "generated_name"]


class Element(NamedTuple):
    """A vertex or an edge of a pattern: its position among `Pattern.names` or `Pattern.edges`."""

    kind: Literal["vertex", "edge"]
    index: int  # type: ignore[assignment]


def generated_name(element: Element) -> str:
    """What conditions call an anonymous element."""
    return f"({element.index})" if element.kind == "vertex" else f"[{element.index}]"


def elements_of(names: Sequence[Hashable | None], edges: Sequence) -> dict[Hashable, list[Element]]:
    """The elements that each name stands for; anonymous ones have generated names, a name of two is ambiguous."""
    elements: dict[Hashable, list[Element]] = {}
    for vertex, name in enumerate(names):
        element = Element("vertex", vertex)
        elements.setdefault(generated_name(element) if name is None else name, []).append(element)
    for index, edge in enumerate(edges):
        element = Element("edge", index)
        elements.setdefault(generated_name(element) if edge.name is None else edge.name, []).append(element)
    return elements


def element_named(name: str, elements: Mapping[Hashable, Sequence[Element]]) -> Element:
    """The element of a name. The message of the error has no argument's name in front."""
    found = elements.get(name, ())
    if len(found) > 1:
        kinds = " and ".join(sorted({f"a{'n edge' if one.kind == 'edge' else ' vertex'}" for one in found}))
        raise PatternError(f"the name {name!r} is ambiguous: it names {kinds}; rename one of them")
    if found:
        return found[0]
    import difflib

    known = [one for one, (element, *_) in elements.items() if one != generated_name(element)]
    nearest = difflib.get_close_matches(name, [one for one in known if isinstance(one, str)], 1)
    hint = f"did you mean {nearest[0]!r}?" if nearest else f"the names are {', '.join(map(repr, known)) or 'none'}"
    raise PatternError(f"{name!r} is no vertex or edge of the pattern; {hint}")
