"""What Arrow, and a format of files, can hold of a dataframe's columns."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from cusubmatch.io.formats import is_text
from cusubmatch.io.publish import plain_schema, table_writer

__all__ = ["arrow_refusals", "has_untyped_column", "writable_schema"]


@contextlib.contextmanager
def arrow_refusals(refusal: Callable[[str], Exception]) -> Iterator[None]:
    """Raise the error that `refusal` makes of Arrow's reason where Arrow cannot hold a column."""
    import pyarrow as pa

    try:
        yield
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        raise refusal(f"{error!s:.200}".partition("\n")[0]) from None


def has_untyped_column(schema: Any) -> bool:
    """Whether a column is of Arrow's null type, as one of Python objects without rows is."""
    import pyarrow as pa

    return any(map(pa.types.is_null, schema.types))


def writable_schema(schema: Any, suffix: str) -> Any:
    """The schema as the format of a suffix holds it; an error of Arrow if it cannot."""
    import pyarrow as pa

    if is_text(suffix):
        schema = plain_schema(schema)
    with table_writer(pa.BufferOutputStream(), schema, suffix) as writer:
        writer.write_table(schema.empty_table())
    return schema
