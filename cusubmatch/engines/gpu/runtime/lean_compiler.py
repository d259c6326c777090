"""Numba's compiler without what it does again and again, for a process that compiles kernels of this package only.

A walker is some sixty functions, and most of the time of compiling it goes to bookkeeping: flags are compared value by
value, calls whose types are known are typed again, and lives of variables are analysed after each pass, whether or not
anyone asks. The code that comes out is the same, which a test compares. Where a version of Numba has no such part, it
stays as it is.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable
from typing import Any

__all__ = ["make_lean", "without_linear_algebra"]

# Passes that concern what no kernel has: closures, exceptions, literals to unroll, inlining that is asked for.
PASSES_FOR_NOTHING = {
    "AnnotateTypes",
    "FindLiterallyCalls",
    "InlineClosureLikes",
    "InlineInlinables",
    "InlineOverloads",
    "LiteralUnroll",
    "MakeFunctionToJitFunction",
    "RewriteDynamicRaises",
    "RewriteSemanticConstants",
    "WithLifting",
}


def without_linear_algebra() -> None:
    """Let Numba find no SciPy, which it imports to see whether there is a BLAS; before Numba's compiler is imported."""
    modules: dict[str, Any] = sys.modules
    modules.setdefault("scipy", None)  # so an import is refused


def make_lean() -> list[str]:
    """Take all shortcuts, for the rest of this process; the names of those that this version has no place for."""
    not_taken = []
    for shortcut in (
        _compare_flags_as_dictionaries,
        _remember_types_of_calls,
        _remember_signatures,
        _list_variables_by_type,
        _analyse_lives_when_asked,
        _leave_out_passes,
    ):
        try:
            shortcut()
        except (ImportError, AttributeError):
            not_taken.append(shortcut.__name__)
    return not_taken


def _compare_flags_as_dictionaries() -> None:
    """Flags are values by name and defaults; Numba asks for each by a property, for each comparison and hash."""
    from numba.cuda.core.targetconfig import TargetConfig

    @functools.cache
    def defaults(kind: Any) -> dict[str, Any]:
        return {name: option.default for name, option in kind.options.items()}

    def values(flags: Any) -> dict[str, Any]:
        kind: Any = type(flags)
        return defaults(kind) | flags._values  # noqa: SLF001

    def equal(flags: Any, other: Any) -> Any:
        if not isinstance(other, TargetConfig):
            return NotImplemented
        return flags is other or values(flags) == values(other)

    TargetConfig.values, TargetConfig.__eq__ = values, equal
    TargetConfig.__hash__ = lambda flags: hash(type(flags))


def _remember_types_of_calls() -> None:
    """The type of a call of a built-in function follows from those of its arguments; it is found once for them."""
    from numba.core.types.functions import BaseFunction

    find: Callable[..., Any] = BaseFunction.get_call_type

    def get_call_type(function: Any, context: Any, args: Any, kws: Any) -> Any:
        if kws:
            return find(function, context, args, kws)
        found = function.__dict__.setdefault("_types_of_calls", {})
        key = tuple(args)
        if key not in found:
            found[key] = find(function, context, args, kws)
        return found[key]

    BaseFunction.get_call_type = get_call_type


def _remember_signatures() -> None:
    """The signature of a Python function does not change."""
    find = inspect.Signature.from_callable.__func__  # type: ignore[attr-defined]
    function_type = type(_remember_signatures)
    known: dict[Any, inspect.Signature] = {}

    def from_callable(kind: Any, function: Any, **named: Any) -> inspect.Signature:
        plain = named.get("follow_wrapped", True) and not named.get("globals") and not named.get("eval_str")
        if type(function) is not function_type or not plain:
            return find(kind, function, **named)
        if function not in known:
            known[function] = find(kind, function, **named)
        return known[function]

    inspect.Signature.from_callable = classmethod(from_callable)  # type: ignore[assignment]


def _list_variables_by_type() -> None:
    """What an attribute of an instruction is follows from its type; most are neither variables nor hold any."""
    from numba.cuda.core import ir

    @functools.cache
    def kind_of(of: Any) -> str:
        kinds = {"variable": ir.var_types, "instruction": ir.inst_types, "list": (list, tuple), "dictionary": (dict,)}
        return next((kind for kind, types in kinds.items() if issubclass(of, types)), "")

    def variables(instruction: Any, value: Any) -> list[Any]:
        value_type: Any = type(value)
        kind = kind_of(value_type)
        if kind == "variable":
            return [value]
        if kind == "instruction":
            return value.list_vars()
        if not kind:
            return []
        inner = value if kind == "list" else value.values()
        return [one for item in inner for one in variables(instruction, item)]

    ir.Inst._rec_list_vars = variables  # noqa: SLF001


def _analyse_lives_when_asked() -> None:
    """Which variables live at the entry of a block is asked by generators, and by who inserts deletions."""
    from numba.cuda.core import compiler_machinery, ir_utils, postproc, transforms

    process = postproc.PostProcessor.run

    def run(processor: Any, emit_dels: bool = False, extend_lifetimes: bool = False) -> None:
        function = processor.func_ir
        if emit_dels or function.is_generator:
            process(processor, emit_dels, extend_lifetimes)
            return
        function.blocks = transforms.canonicalize_cfg(function.blocks)
        function.variable_lifetime = postproc.VariableLifetime(function.blocks)  # analyses what is asked for
        function.generator_info = None

    postproc.PostProcessor.run = run
    for module in (compiler_machinery, ir_utils):
        module.enforce_no_dels = lambda _function: None


def _leave_out_passes() -> None:
    """Leave out the passes that find nothing to do in a kernel."""
    from numba.cuda.compiler import CUDACompiler

    define = CUDACompiler.define_pipelines

    def define_pipelines(compiler: Any) -> list[Any]:
        pipelines = define(compiler)
        for pipeline in pipelines:
            kept = [(step, words) for step, words in pipeline.passes if step.__name__ not in PASSES_FOR_NOTHING]
            pipeline.passes[:] = kept
            pipeline.finalize()
        return pipelines

    CUDACompiler.define_pipelines = define_pipelines
