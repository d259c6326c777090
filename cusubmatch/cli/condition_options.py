"""What the command line says of conditions: `--where`, `--param`, `--candidates`, `--touching`, `--each-edge`."""

from __future__ import annotations

import json
import re
from typing import Any

from cusubmatch.cli.inputs import read_ids

__all__ = ["condition_arguments"]

WORDS = {"true": True, "false": False, "null": None}


def condition_arguments(
    ids: str | None, params: list[str] | None, candidates: list[str] | None, touching: str | None, each_edge: bool
) -> dict[str, Any]:
    """The arguments of the Python functions, from the texts of the options; `ids` are "int", "text" or as read_ids."""
    given = dict(_named("param", text, "window=30") for text in params or ())
    files = dict(_named("candidates", text, "a=ids.csv") for text in candidates or ())
    return {
        "params": {name: _value(name, text) for name, text in given.items()} or None,
        "candidates": {name: read_ids("candidates", file, ids) for name, file in files.items()} or None,
        "edges": "each" if each_edge else "any",
        "touching": None if touching is None else read_ids("touching", touching, ids),
    }


def _named(argument: str, text: str, example: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise ValueError(f"{argument}: expected a name and a value such as {example}, got {text!r}")
    return name.removeprefix("$"), value


def _value(name: str, text: str) -> Any:
    """A number, a word, a date, a duration or a list as in a pattern's text; anything else is text."""
    from cusubmatch.pattern.language.literals import duration_value, time_value

    if text.startswith("["):
        try:
            return json.loads(text)
        except ValueError:
            raise ValueError(f'param: {name}: expected a list such as [1, 2] or ["x", "y"], got {text!r}') from None
    for convert in (int, float):
        try:
            return convert(text)
        except ValueError:
            pass
    call = re.fullmatch(r"(date|datetime|duration)\('([^']*)'\)", text, re.IGNORECASE)
    if call is not None:
        kind = call[1].lower()
        return duration_value(call[2]) if kind == "duration" else time_value(call[2], only_date=kind == "date")
    if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
        return text[1:-1]
    return WORDS.get(text.lower(), text)
