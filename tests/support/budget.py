"""Registers, spills and stack of a kernel on any GPU, without one: NVVM to LTO-IR to nvJitLink, as at run time."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import NamedTuple
from unittest import mock

from cuda.core import Linker, LinkerOptions, ObjectCode
from numba.cuda.compiler import compile_cuda, kernel_fixup

ARCHITECTURES = ((8, 0), (9, 0), (10, 0))


class Budget(NamedTuple):
    registers: int
    spilled: int  # bytes
    stack: int  # bytes
    shared: int  # bytes


def lower(function, signature):
    """A kernel, a Python function with arguments of the given Numba types, as LLVM's IR: the same for all GPUs."""
    device = SimpleNamespace(compute_capability=ARCHITECTURES[0])
    with mock.patch("numba.cuda.dispatcher.get_current_device", lambda: device):
        compiled = compile_cuda(
            function, signature.return_type, signature.args, nvvm_options={"opt": 3}, cc=ARCHITECTURES[0], lto=True
        )
    kernel_fixup(compiled.library.get_function(compiled.fndesc.llvm_func_name), debug=False)
    return compiled.library


def budget_of(library, architecture) -> Budget:
    """What the compiler reports of a lowered kernel."""
    major, minor = architecture
    options = LinkerOptions(arch=f"sm_{major}{minor}", link_time_optimization=True, ptxas_options=["-v"])
    linker = Linker(ObjectCode.from_ltoir(library.get_ltoir(cc=architecture)), options=options)
    linker.link("cubin")
    log = linker.get_info_log()

    def number(pattern):
        found = re.search(pattern, log)
        return int(found.group(1)) if found else 0

    spilled = number(r"(\d+) bytes spill stores") + number(r"(\d+) bytes spill loads")
    return Budget(number(r"Used (\d+) registers"), spilled, number(r"(\d+) bytes stack"), number(r"(\d+) bytes smem"))
