"""What the command line says on stderr: errors and warnings on one line, in its own words."""

from __future__ import annotations

import contextlib
import os
import re
import sys
import warnings
from typing import TYPE_CHECKING, Any, NoReturn

import typer
import typer.core

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["OneLineGroup", "one_line", "one_line_errors"]

CLOSED_PIPE = 128 + 13  # the exit code of what SIGPIPE ends

# Arguments of the Python functions that the command line spells differently.
OPTIONS = "source destination directed edge_label vertices vertex vertex_label semantics unique distinct engine"
LIMITS = "time_limit limit rows_per_file ids input_format format sort matches scheduler workers resume arch"
CONDITIONS = "where param candidates touching edge_id time by min_count devices"
WORDS = {name: f"--{name.replace('_', '-')}" for name in f"{OPTIONS} {LIMITS} {CONDITIONS}".split()}
WORDS |= {"params": "--param", "edges": "EDGES", "pattern": "PATTERN", "path": "--output", "queries": "QUERIES"}


# "No such option", "missing argument", "invalid value"; not click's name, for newer Typers carry a click of their own.
UsageError: Any = typer.BadParameter.__base__


class OneLineGroup(typer.core.TyperGroup):
    """The group of commands, with usage errors on one line instead of a usage screen."""

    def main(  # type: ignore[override] # a newer Typer has more arguments, an older one others
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        standalone_mode: bool = True,
        **extra: Any,
    ) -> Any:
        try:
            code = super().main(args=args, prog_name=prog_name, standalone_mode=False, **extra)
        except UsageError as error:
            typer.echo(f"cusubmatch: {one_line(error.format_message())}", err=True)
            code = 2
        except typer.Abort:
            code = 130
        if standalone_mode:
            sys.exit(code if isinstance(code, int) else 0)
        return code


@contextlib.contextmanager
def one_line_errors() -> Iterator[None]:
    """Turn the errors and warnings that a user can cause into one line on stderr each, and errors into an exit code.

    The code is 2 for bad input and 1 for work that could not be finished. Where nobody reads stdout any longer, as
    after ``| head -1``, the work ends without a word, with the code of a broken pipe.
    """
    from cusubmatch import CusubmatchError, EngineUnavailable, ResultTooLarge, TimeLimitExceeded

    try:
        with _one_line_warnings():
            yield
            sys.stdout.flush()
    except BrokenPipeError:
        _drop_what_cannot_be_written()
        raise typer.Exit(CLOSED_PIPE) from None
    except TimeLimitExceeded as error:
        unit = "match" if error.partial == 1 else "matches"
        counted = f"; {error.partial:,} {unit} until then" if isinstance(error.partial, int) else ""
        _exit(str(error).partition("; .partial")[0] + counted, 1)
    except (EngineUnavailable, ResultTooLarge, MemoryError) as error:
        _exit(str(error) or "out of memory", 1)
    except OSError as error:
        _drop_what_cannot_be_written()
        _exit(re.sub(r"^\[Errno \d+\] ", "", str(error)) or type(error).__name__, 1)
    except (ValueError, TypeError) as error:
        _exit(str(error) or type(error).__name__, 2)
    except CusubmatchError as error:  # of a cluster
        _exit(str(error), 1)


def _drop_what_cannot_be_written() -> None:
    """Empty the buffer of stdout, so that Python does not fail to when it ends."""
    try:
        sys.stdout.flush()
    except OSError:
        with open(os.devnull, "wb") as nowhere:  # noqa: PTH123 - a device
            os.dup2(nowhere.fileno(), sys.stdout.fileno())


@contextlib.contextmanager
def _one_line_warnings() -> Iterator[None]:
    """Print a warning of labels or ids once, wherever it comes from."""
    from cusubmatch import AbsentIdWarning, AbsentLabelWarning

    ours, said = (AbsentIdWarning, AbsentLabelWarning), set[str]()
    with warnings.catch_warnings():
        for category in ours:
            warnings.simplefilter("always", category)
        others = warnings.showwarning

        def show(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
            if category not in ours:
                others(message, category, *where, **more)
            elif str(message) not in said:
                said.add(str(message))
                typer.echo(f"cusubmatch: {one_line(str(message))}", err=True)

        warnings.showwarning = show
        yield


def _exit(message: str, code: int) -> NoReturn:
    text = one_line(message)
    typer.echo(f"cusubmatch: {text}", err=True)
    raise typer.Exit(code)


def one_line(text: str) -> str:
    """The message on one line, naming options instead of arguments; a caret under a line becomes a mark within it."""
    lines = text.splitlines()
    for i in range(2, len(lines)):
        if lines[i].strip() == "^":
            place = len(lines[i]) - 1
            marked = f"{lines[i - 1][:place]} >>HERE>> {lines[i - 1][place:]}".strip()
            lines[i - 1 : i + 1] = [marked, ""]
    text = " ".join(" ".join(lines).split())
    text = re.sub(r"^edges: 'each'|edges='each'", "--each-edge", text)
    names = "|".join(WORDS)
    text = re.sub(rf"^((?:{names})(?:, (?:{names}))*): ", lambda m: _spoken(m[1]) + ": ", text)
    return re.sub(rf"\b({names})=(['\"]?)([^\s'\",;.)]*)\2", lambda m: f"{WORDS[m[1]]} {m[3]}".strip(), text)


def _spoken(names: str) -> str:
    return ", ".join(WORDS[name] for name in names.split(", "))
