"""The text of values: texts, numbers, dates, times and durations, read and written.

Texts are quoted as in openCypher (backslash escapes) or SQL (a doubled quote). Times and durations are ISO 8601, held
in nanoseconds; a time with an offset is moved to UTC. Months and years have no fixed length and are refused.
"""

from __future__ import annotations

import math
import re
from fractions import Fraction
from typing import Any

import numpy as np

__all__ = ["duration_value", "literal_text", "number_value", "string_value", "time_value"]

NANOSECONDS = {"W": 604_800 * 10**9, "D": 86_400 * 10**9, "H": 3_600 * 10**9, "M": 60 * 10**9, "S": 10**9}
MAX_NANOSECONDS = 2**63 - 1  # the least int64 is NumPy's "not a time"
ESCAPES = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f", "\\": "\\", "'": "'", '"': '"', "`": "`"}
DURATION = re.compile(r"(-?)P((?:[0-9.,]+[YMWD])*)(?:T((?:[0-9.,]+[HMS])+))?", re.ASCII)
TIME = re.compile(
    r"(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?)(Z|[+-]\d{2}(?::?\d{2})?)?)?", re.ASCII
)


def string_value(text: str) -> str:
    """The value of a quoted text."""
    quote = text[0]

    def plain(match):
        escape = match[0]
        if escape == quote * 2:
            return quote
        if escape[1] == "u":
            if not re.fullmatch(r"\\u[0-9A-Fa-f]{4}", escape):
                raise ValueError(r"\u needs four hexadecimal digits")
            return chr(int(escape.removeprefix(r"\u"), 16))
        if escape[1] not in ESCAPES:
            raise ValueError(f"the escape {escape!r} is unknown; write \\\\ for a backslash")
        return ESCAPES[escape[1]]

    return re.sub(rf"{quote}{quote}|\\u[0-9A-Fa-f]{{0,4}}|\\.", plain, text[1:-1], flags=re.DOTALL)


def number_value(text: str) -> int | float:
    """The value of an unsigned number."""
    if text.isdigit():
        if len(text) > 4_000:
            raise ValueError("the number has more than 4,000 digits")
        return int(text)
    value = float(text)
    if math.isinf(value):
        raise ValueError("the number is too large for a float")
    return value


def time_value(text: str, *, only_date: bool = False) -> np.datetime64:
    """The time that an ISO 8601 text names."""
    example = "date('2024-05-31')" if only_date else "datetime('2024-05-31T09:30:00')"
    parts = TIME.fullmatch(text)
    if parts is None or (only_date and parts[2]):
        raise ValueError(f"{text!r} is not an ISO 8601 {'date' if only_date else 'time'} such as {example}")
    day, clock, offset = parts.groups()
    try:
        seconds = int(np.datetime64(f"{day}T{(clock or '00:00').partition('.')[0]}", "s").astype(np.int64))
    except ValueError:
        raise ValueError(f"{text!r} is no day and time of the calendar") from None
    fraction = (clock or "").partition(".")[2]
    if offset not in (None, "Z"):
        digits = offset[1:].replace(":", "").ljust(4, "0")
        shift = (int(digits[:2]) * 60 + int(digits[2:])) * 60
        seconds += shift if offset[0] == "-" else -shift
    return np.datetime64(_nanoseconds(seconds * 10**9 + int(fraction.ljust(9, "0") or 0), text), "ns")


def duration_value(text: str) -> np.timedelta64:
    """The duration that an ISO 8601 text names, in weeks, days, hours, minutes and seconds, fractions as well."""
    parts = DURATION.fullmatch(text)
    if parts is None or not (parts[2] or parts[3]):
        raise ValueError(f"{text!r} is not an ISO 8601 duration such as duration('P30D') or duration('PT6H30M')")
    days, clock = parts[2] or "", parts[3] or ""
    if "Y" in days or "M" in days:
        raise ValueError("months and years have no fixed length; write days, such as duration('P30D')")
    total = Fraction(0)
    for number, unit in re.findall(r"([0-9.,]+)([WDHMS])", days + clock):
        if not re.fullmatch(r"[0-9]+([.,][0-9]+)?", number):
            raise ValueError(f"{number!r} is not a number of a duration such as duration('PT1.5H')")
        total += Fraction(number.replace(",", ".")) * NANOSECONDS[unit]
    if total.denominator != 1:
        raise ValueError(f"{text!r} is no whole number of nanoseconds")
    return np.timedelta64(_nanoseconds(-int(total) if parts[1] else int(total), text), "ns")


def _nanoseconds(number, text):
    if abs(number) > MAX_NANOSECONDS:
        raise ValueError(f"{text!r} is out of range: 64-bit nanoseconds reach from 1677 to 2262, or 292 years")
    return number


def literal_text(value: Any) -> str:
    """The text of a literal's value."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, str):
        return "'" + "".join(f"\\{c}" if c in "\\'" else {"\n": "\\n", "\r": "\\r"}.get(c, c) for c in value) + "'"
    if isinstance(value, np.datetime64):
        day, _, clock = str(value).partition("T")
        return f"date('{day}')" if not clock.strip("0:.") else f"datetime('{day}T{_without_zeros(clock)}')"
    if isinstance(value, np.timedelta64):
        return f"duration('{_duration_text(int(value.astype(np.int64)))}')"
    return repr(value)


def _duration_text(nanoseconds):
    left, parts = abs(nanoseconds), {}
    for unit in "DHM":
        parts[unit], left = divmod(left, NANOSECONDS[unit])
    clock = "".join(f"{parts[unit]}{unit}" for unit in "HM" if parts[unit])
    if left:
        clock += _without_zeros(f"{left // 10**9}.{left % 10**9:09}") + "S"
    days = f"{parts['D']}D" if parts["D"] or not clock else ""
    return f"{'-' if nanoseconds < 0 else ''}P{days}{'T' if clock else ''}{clock}"


def _without_zeros(text):
    return text.rstrip("0").rstrip(".") if "." in text else text
