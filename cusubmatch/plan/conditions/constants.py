"""Values that a condition is compared with: literals and parameters, as numbers of the kinds that columns have."""

from __future__ import annotations

import datetime as dt
import decimal
import math
from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

import numpy as np

from cusubmatch.frames import TypedColumn, as_column, typed_column

__all__ = ["INT64", "Constant", "constant_of", "list_of"]

INT64 = range(-(2**63), 2**63)


class Constant(NamedTuple):
    """A value.

    Attributes
    ----------
    kind : str
        A kind of `TypedColumn`.
    value : int, float, str or None
        Of times and durations nanoseconds, of decimals a number of 10**-scale.
    scale : int
    """

    kind: str
    value: Any
    scale: int = 0


def constant_of(value: Any) -> Constant:
    """The constant that a Python, NumPy or pandas value stands for; TypeError for any other."""
    if isinstance(value, np.generic) and not isinstance(value, (np.datetime64, np.timedelta64)):
        value = value.item()
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return Constant("null", None)
    if isinstance(value, bool):
        return Constant("boolean", int(value))
    if isinstance(value, int):
        return Constant("integer", value) if value in INT64 else Constant("float", float(value))
    if isinstance(value, float):
        return Constant("null", None) if math.isnan(value) else Constant("float", value)
    if isinstance(value, str):
        return Constant("text", value)
    if isinstance(value, decimal.Decimal):
        return _decimal(value)
    if isinstance(value, (np.datetime64, dt.date)):
        return _time(value)
    if isinstance(value, (np.timedelta64, dt.timedelta)):
        return _duration(value)
    raise TypeError(
        f"expected a number, a text, a bool, None, a date, a time or a duration, got {type(value).__name__}"
    )


def exact_decimal(value: float) -> Constant:
    """A float as the decimal that it prints as; itself if it is no such number."""
    if not math.isfinite(value):
        return Constant("float", value)
    return _decimal(decimal.Decimal(repr(value)))


def list_of(values: Any) -> tuple[list[Constant], TypedColumn | None]:
    """The values of a list: constants, or of an array or a column its typed values (of one or the other).

    Raises
    ------
    TypeError
        If it is no list, or holds a value that cannot be compared.
    """
    found = as_column(values)
    if found is not None:
        family, column = found
        return [], typed_column(family, column)
    if isinstance(values, (str, bytes, dict)) or not isinstance(values, (Sequence, Collection)):
        raise TypeError(f"expected a list, an array or a column of values, got {type(values).__name__}")
    return [constant_of(value) for value in values], None


def _decimal(value):
    if not value.is_finite():
        return Constant("null", None) if value.is_nan() else Constant("float", float(value))
    sign, digits, exponent = value.as_tuple()
    unscaled = int("".join(map(str, digits))) * (-1 if sign else 1)
    if exponent > 0:
        unscaled, exponent = unscaled * 10**exponent, 0
    return Constant("decimal", unscaled, -exponent)


def _time(value):
    """A date or a time as nanoseconds since 1970; one with a time zone in UTC."""
    if isinstance(value, dt.datetime) and value.tzinfo is not None:
        value = value.astimezone(dt.UTC).replace(tzinfo=None)
    moment = np.datetime64(value) if not hasattr(value, "to_datetime64") else value.to_datetime64()
    if np.isnat(moment):
        return Constant("null", None)
    return Constant("time", _in_nanoseconds(moment, "datetime64[ns]", value))


def _duration(value):
    length = np.timedelta64(value) if not hasattr(value, "to_timedelta64") else value.to_timedelta64()
    if np.isnat(length):
        return Constant("null", None)
    if np.datetime_data(length.dtype)[0] in ("Y", "M"):
        raise TypeError("expected a duration of weeks or shorter units, got one of months or years")
    return Constant("duration", _in_nanoseconds(length, "timedelta64[ns]", value))


def _in_nanoseconds(value, dtype, shown):
    nanoseconds = value.astype(dtype)
    if nanoseconds.astype(value.dtype) != value:
        raise TypeError(f"expected a time from 1677 to 2262, or at most 292 years, got {shown}")
    return int(nanoseconds.astype(np.int64))
