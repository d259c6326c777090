"""Processes that compile take shortcuts through Numba's compiler; what it makes of a kernel is the same."""

from __future__ import annotations

import os

import pytest

from cusubmatch.engines.gpu.all_kernels import row_kernels, walk_kernel
from cusubmatch.engines.gpu.runtime import compile_server
from cusubmatch.engines.gpu.runtime.cuda import gpu
from cusubmatch.engines.gpu.runtime.lean_compiler import make_lean
from cusubmatch.engines.gpu.search import filter_kernels
from cusubmatch.engines.gpu.search.program import SLOTS
from cusubmatch.engines.gpu.walker.variant import COUNT, PAIRS, ROWS, SUFFIX, WEIGHTS, Variant

H200 = (9, 0)
MODULE = "; ModuleID = "  # they are linked in any order


def lowered(kernel):
    """The LLVM code of a kernel by the compiler of this process, module by module."""
    from numba.cuda.compiler import compile_cuda

    function = kernel.recipe.make(gpu.__wrapped__()).py_func
    compiled = compile_cuda(
        function, kernel.signature.return_type, kernel.signature.args, nvvm_options={"opt": 3}, cc=H200, lto=True
    )
    return sorted(text.strip() for text in compiled.library.get_llvm_str().split(MODULE))


def apart(work):
    """The text that a fork makes, since shortcuts are for the rest of a process."""
    end, result = os.pipe()
    process = os.fork()
    if not process:
        try:
            compile_server._compile_for(H200)
            with os.fdopen(result, "w") as file:
                file.write(work())
        finally:
            os._exit(0)
    os.close(result)
    with os.fdopen(end) as file:
        text = file.read()
    os.waitpid(process, 0)
    return text


SMALL = [*row_kernels(offsets64=False), filter_kernels.signatures()[0]]
WALKERS = [walk_kernel(Variant(SLOTS[0], False, mode)) for mode in (COUNT, PAIRS, WEIGHTS, ROWS, SUFFIX)]


@pytest.mark.thorough
@pytest.mark.parametrize("kernel", [*SMALL, *WALKERS], ids=lambda kernel: kernel.name)
def test_shortcuts_leave_the_code_as_it_is(kernel):
    def shortened():
        make_lean()
        return MODULE.join(lowered(kernel))

    text = apart(shortened)
    assert "define" in text
    assert text == apart(lambda: MODULE.join(lowered(kernel)))


def test_every_shortcut_is_taken():
    assert apart(lambda: repr(make_lean())) == "[]"
