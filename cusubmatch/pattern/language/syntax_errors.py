"""What is wrong with a text, in one message that marks the position and says what would do."""

from __future__ import annotations

import re

__all__ = ["explain", "mark"]

MAX_SHOWN_CHARACTERS = 100  # of the line that an error message shows

# What people write out of habit, and what this language has for it.
OPERATORS = (
    ("==", "write = to compare"),
    ("!=", "write <> for 'not equal'"),
    ("=<", "write <="),
    ("=>", "write >="),
    ("=~", "regular expressions are not supported; STARTS WITH is"),
    ("&&", "write AND"),
    ("||", "write OR"),
    ("**", "powers are not supported"),
    ("^", "powers are not supported"),
)
WORDS = {
    "xor": "XOR is not supported; compare the two with <>",
    "contains": "CONTAINS is not supported; STARTS WITH is",
    "ends": "ENDS WITH is not supported; STARTS WITH is",
    "like": "LIKE is not supported; STARTS WITH is",
    "between": "write low <= a.column AND a.column <= high",
    "case": "CASE is not supported",
    "exists": "EXISTS is followed by a pattern in braces, as in EXISTS { (a)-->(z) WHERE z.risk > 3 }",
    "return": "a pattern returns all its vertices; leave RETURN out",
    "match": "a pattern begins with a vertex; leave MATCH out",
    "limit": "limits are arguments of the functions: limit=",
    "order": "orders are arguments of the functions: sort=True",
    "and": "conditions begin with WHERE",
    "or": "conditions begin with WHERE",
}


def explain(text: str, error: Exception, argument: str = "pattern") -> str:
    """The message for a text that cannot be parsed, from the parser's error."""
    position = getattr(error, "pos_in_stream", None)
    token = getattr(error, "token", None)
    if position is None or position < 0 or (token is not None and token.type == "$END") or not text[position:].strip():
        position = len(text.rstrip())
    for symbol, advice in OPERATORS:
        for start in (position, position - 1):  # of == the second character may be the one that cannot be read
            if start >= 0 and text.startswith(symbol, start):
                return mark(text, start, f"cannot read {symbol} here; {advice}", argument)
    here = text[position : position + 1].strip()
    conditions = argument != "pattern" or re.search(r"\bwhere\b", text[:position], re.IGNORECASE) is not None
    if before := re.search(r"\bexists\s*$", text[:position], re.IGNORECASE):
        position, conditions = before.start(), True
    word = re.match(r"\w*", text[position:])
    if here == "!":
        problem = "write NOT" if conditions else "a negated part (!) is written WHERE NOT (a)-->(b)"
    elif here == "*" and not conditions:
        problem = "the lengths of a path stand in its edge, as in (a)-[:TYPE*1..3]->(b)"
    elif not conditions and (here == "+" or re.search(r"[->]\s*\{\s*$", text[:position])):
        problem = "the lengths of a path are whole numbers, as in (a)-->{1,3}(b)"
    elif not here:
        problem = f"the {'condition' if conditions else 'pattern'} ends too early"
    elif here in "'\"`":
        problem = f"the quote {here!r} is not closed, or a text follows another one"
    elif here in "\N{LEFT SINGLE QUOTATION MARK}\N{RIGHT SINGLE QUOTATION MARK}\N{LEFT DOUBLE QUOTATION MARK}":
        problem = f"cannot read {here!r} here; write a straight quote, '"
    elif word is not None and word[0].lower() in WORDS and (conditions or word[0].lower() not in ("xor", "case")):
        problem = f"cannot read {word[0]} here; {WORDS[word[0].lower()]}"
    elif conditions:
        problem = f"cannot read {here!r} here; write for example a.amount > 1000 AND p.time < q.time"
    else:
        problem = f"cannot read {here!r} here; write for example (a:Label)-[:TYPE]->(b), (b)--(c)"
    return mark(text, position, problem, argument)


def mark(text: str, position: int, problem: str, argument: str = "pattern") -> str:
    """A message with the line of the text and a mark below the position."""
    line_start = text.rfind("\n", 0, position) + 1
    line = text[line_start:].split("\n", 1)[0]
    if (cut := position - line_start - MAX_SHOWN_CHARACTERS // 2) > 0:  # of a long line the part around the position
        line, line_start = line[cut:], line_start + cut
    line = line[:MAX_SHOWN_CHARACTERS]
    return f"{argument}: {problem} (at character {position + 1})\n  {line}\n  {' ' * (position - line_start)}^"
