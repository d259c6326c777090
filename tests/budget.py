"""Registers, spills and stack of a kernel on any GPU, without one: NVVM to LTO-IR to nvJitLink, as at run time."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import NamedTuple
from unittest import mock

from cuda.core import Linker, LinkerOptions, ObjectCode
from numba import cuda

ARCHITECTURES = ((8, 0), (9, 0), (10, 0))


class Budget(NamedTuple):
    registers: int
    spilled: int  # bytes
    stack: int  # bytes
    shared: int  # bytes


def budget_of(function, signature, architecture) -> Budget:
    """What the compiler reports of a kernel, a Python function, with arguments of the given Numba types."""
    device = SimpleNamespace(compute_capability=architecture)
    with mock.patch("numba.cuda.dispatcher.get_current_device", lambda: device):
        code, _ = cuda.compile(function, signature, cc=architecture, device=False, abi="numba", output="ltoir")
    major, minor = architecture
    options = LinkerOptions(arch=f"sm_{major}{minor}", link_time_optimization=True, ptxas_options=["-v"])
    linker = Linker(ObjectCode.from_ltoir(code), options=options)
    linker.link("cubin")
    log = linker.get_info_log()

    def number(pattern):
        found = re.search(pattern, log)
        return int(found.group(1)) if found else 0

    spilled = number(r"(\d+) bytes spill stores") + number(r"(\d+) bytes spill loads")
    return Budget(number(r"Used (\d+) registers"), spilled, number(r"(\d+) bytes stack"), number(r"(\d+) bytes smem"))
