"""The text of names, labels and edges, and the names that texts stand for: in backticks where they are not words."""

from __future__ import annotations

import re

__all__ = ["edge_text", "labels_text", "name_text", "quoted_value"]

KEYWORDS = re.compile(r"and|or|not|in|is|starts|with|null|true|false|where", re.IGNORECASE)


def quoted_value(text: str) -> str:
    """The name that a plain or backtick-quoted text stands for."""
    return text[1:-1].replace("``", "`") if text[0] == "`" else text


def name_text(name: str, *, strict: bool = False) -> str:
    """The text of a name, in backticks where it needs them; `strict` where keywords and numbers may stand as well."""
    plain = re.fullmatch(r"[^\W\d]\w*" if strict else r"\w+", name) and not (strict and KEYWORDS.fullmatch(name))
    return name if plain else "`" + name.replace("`", "``") + "`"


def edge_text(directed: bool, labels: frozenset | None, name: str | None = None, properties: str = "") -> str:
    """The text of an edge between its two vertices."""
    inside = f"{'' if name is None else name_text(name)}{labels_text(labels)}"
    inside = " ".join(part for part in (inside, properties) if part)
    return f"-[{inside}]-" * bool(inside) + "--" * (not inside) + ">" * directed


def labels_text(labels: frozenset | None) -> str:
    """The text of label alternatives."""
    return "" if labels is None else ":" + "|".join(sorted(name_text(str(label)) for label in labels))
