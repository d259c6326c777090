"""The command `warm-up`: all compiled code, made before it is needed."""

from __future__ import annotations

import typer

from cusubmatch.cli.arguments import ShowProgress, WarmArchitectures, WarmCpu
from cusubmatch.cli.terminal import one_line_errors
from cusubmatch.cli.warm_up import capabilities_of, compile_by_calls, compile_for_gpus
from cusubmatch.display.progress import Progress
from cusubmatch.system.gpu_presence import missing_for_gpu

__all__ = ["warm_up"]


def warm_up(arch: WarmArchitectures = None, cpu: WarmCpu = True, progress: ShowProgress = None) -> None:
    """Compile everything now, so that no later process has to; for a GPU that need not be here, as in an image."""
    with one_line_errors():
        capabilities = capabilities_of(arch)
        with Progress(progress) as line:
            if capabilities:
                names = ", ".join(f"sm_{major}{minor}" for major, minor in capabilities)
                kernels = compile_for_gpus(capabilities, line.start(f"compiling for {names}", "kernels"))
                typer.echo(f"{kernels} kernels compiled for {names}")
                if not arch and missing_for_gpu() is None:
                    compile_by_calls("gpu", line.start("trying the GPU", "parts"))
            if cpu:
                parts = compile_by_calls("cpu", line.start("compiling for the CPU", "parts"))
                typer.echo(f"{parts} parts of the CPU engine compiled")
