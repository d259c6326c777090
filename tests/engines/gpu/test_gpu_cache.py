"""Compiled kernels are found again by the next process, and never by one whose sources differ."""

import ctypes
import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import cusubmatch
from cusubmatch.engines.compile.code_cache import cache_folder

ENGINES = Path(cusubmatch.__file__).parent / "engines"
KEYS = """
from cusubmatch.engines.gpu.all_kernels import all_kernels
from cusubmatch.engines.gpu.runtime.kernel_store import kernel_store

for _, kernel in all_kernels():
    print(kernel_store().path(kernel.recipe, kernel.signature.args, (9, 0)).name)
"""


def run(code, **environment):
    path = os.pathsep.join([str(ENGINES.parents[1]), os.environ.get("PYTHONPATH", "")])
    environment = os.environ | {"PYTHONPATH": path} | environment
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.thorough
def test_kernels_are_known_by_the_same_keys_in_every_process():
    first, second = run(KEYS, PYTHONHASHSEED="1"), run(KEYS, PYTHONHASHSEED="2")
    assert first == second
    assert len(set(first)) == len(first) > 20  # and each by a key of its own


@pytest.mark.parametrize("engine", ["cpu", "gpu"])
def test_an_edit_of_any_source_of_an_engine_leads_to_another_folder(engine, tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "cache"))
    copy = tmp_path / engine
    shutil.copytree(ENGINES / engine, copy, ignore=shutil.ignore_patterns("__pycache__"))
    folders = {cache_folder.__wrapped__(copy, "compiler 1"), cache_folder.__wrapped__(copy, "compiler 2")}
    for source in sorted(copy.rglob("*.py")):
        source.write_text(source.read_text() + "# edited\n")
        folders.add(cache_folder.__wrapped__(copy, "compiler 1"))
    assert len(folders) == 2 + len(list(copy.rglob("*.py")))
    assert all(folder.is_dir() for folder in folders)


def test_the_target_mends_what_numpy_no_longer_has(monkeypatch):
    from cusubmatch.engines.gpu.runtime.cuda import gpu

    monkeypatch.delattr(np, "row_stack", raising=False)
    gpu.__wrapped__()
    assert vars(np)["row_stack"] is np.vstack


def test_a_launch_goes_to_the_stream_that_is_current_then(monkeypatch):
    from cusubmatch.engines.gpu.runtime import cuda

    launched, configured = [], []
    streams, numbers = iter(["first stream", "second stream", 0, 0, 0]), iter([0, 0, 0, 1, 1])

    class Compiled:
        py_func = None

        def __getitem__(self, shape):
            configured.append(shape)
            return lambda *arguments: launched.append((shape, arguments))

    monkeypatch.setattr(cuda, "_current_stream", lambda: next(streams))
    monkeypatch.setattr(cuda, "_stream_of", lambda address: address)
    monkeypatch.setattr(cuda, "current_number", lambda: next(numbers))
    launch = cuda.Kernel(Compiled())[3, 64, 1024]
    launch(1)
    launch(2)
    assert launched == [((3, 64, "first stream", 1024), (1,)), ((3, 64, "second stream", 1024), (2,))]
    for argument in (3, 4, 5):  # the default streams of two GPUs have one address
        launch(argument)
    assert [arguments for _, arguments in launched] == [(1,), (2,), (3,), (4,), (5,)]
    assert configured == [(3, 64, stream, 1024) for stream in ("first stream", "second stream", 0, 0)]


class Array:
    """CuPy's, as far as it is asked here."""

    __module__ = "cupy"

    def __init__(self, array, address):
        self.data, self._c_contiguous, self._f_contiguous = SimpleNamespace(ptr=address), True, array.ndim == 1
        for name in ("dtype", "ndim", "size", "itemsize", "shape", "strides"):
            setattr(self, name, getattr(array, name))


def test_arrays_are_given_to_kernels_as_their_words_and_to_numba_as_input(monkeypatch):
    from numba import cuda as numba_cuda
    from numba import types as nb

    from cusubmatch.engines.gpu.runtime import launch_arguments

    view = np.zeros((3, 5), np.uint32)
    monkeypatch.setattr(numba_cuda, "as_cuda_array", lambda _array, sync: view)
    monkeypatch.setattr(launch_arguments, "_array_types", {})
    given = launch_arguments.as_device_array(Array(view, 4096))
    assert given.words == (0, 0, 15, 4, 4096, 3, 5, 20, 4)
    assert given._numba_type_ == nb.uint32[:, ::1]
    assert launch_arguments.as_device_array(given) is given
    assert launch_arguments.as_device_array(7) == launch_arguments.as_numba_has_it(7) == 7
    for_numba = launch_arguments.as_numba_has_it(given)
    assert isinstance(for_numba, numba_cuda.In)
    assert for_numba.value is view


def test_a_parameter_block_knows_its_type():
    from numba import types as nb
    from numba.cuda.typing.typeof import typeof

    from cusubmatch.engines.gpu.runtime import launch_arguments
    from cusubmatch.engines.gpu.tables.parameters import ARC_BATCH, ArcBatch

    class Input:
        def __init__(self, kind):
            self._numba_type_ = kind

    sources, arcs = Input(nb.int32[::1]), Input(nb.int64[::1])
    block = launch_arguments.as_device_array(ArcBatch(sources, arcs, np.int64(3), np.int64(5)))
    assert block == (sources, arcs, 3, 5)
    assert block.arcs is arcs
    assert block._numba_type_ == typeof(block) == ARC_BATCH  # else each launch would compile
    assert launch_arguments.as_device_array(block) is block
    again = launch_arguments.as_device_array(ArcBatch(sources, arcs, np.int64(5), np.int64(8)))
    assert again._numba_type_ is block._numba_type_
    assert launch_arguments.as_device_array((sources, arcs)) == (sources, arcs)
    other = launch_arguments.as_device_array(ArcBatch(arcs, arcs, np.int64(5), 8))
    assert other._numba_type_ == nb.NamedTuple([nb.int64[::1], nb.int64[::1], nb.int64, nb.int64], ArcBatch)


def test_each_further_gpu_loads_a_copy_of_a_kernels_code(monkeypatch):
    import cuda.core

    from cusubmatch.engines.gpu.runtime.compilation import _loaded_apart

    class Library:
        def get_cubin(self, _capability):
            return SimpleNamespace(code=b"cubin", name="kernel", symbol_mapping={})

    library = Library()
    copies = SimpleNamespace(from_cubin=lambda code, name, symbol_mapping: [code, name, symbol_mapping])
    monkeypatch.setattr(cuda.core, "ObjectCode", copies)
    kernel = SimpleNamespace(_codelibrary=library)
    assert _loaded_apart(_loaded_apart(kernel)) is kernel
    first, second = library.get_cubin(), library.get_cubin()
    assert first == second == [b"cubin", "kernel", {}]
    assert first is not second


@pytest.mark.parametrize("numba_makes_other_words", [False, True])
def test_a_launch_that_comes_again_joins_the_words_of_its_arguments(monkeypatch, numba_makes_other_words):
    import cuda.core
    from numba import types as nb

    from cusubmatch.engines.gpu.runtime import kernel_launch
    from cusubmatch.engines.gpu.runtime.launch_arguments import DeviceArray, as_device_array
    from cusubmatch.engines.gpu.tables.parameters import ARC_BATCH, ArcBatch

    def device_array(kind, words):
        array = DeviceArray.__new__(DeviceArray)
        array.array, array.words, array._numba_type_ = None, words, kind
        return array

    class Compiled:  # Numba's
        argument_types, debug, converted = (ARC_BATCH, nb.int64, nb.uint32), False, []
        _codelibrary = SimpleNamespace(get_cufunc=lambda: SimpleNamespace(kernel="function"))

        def _prepare_args(self, kind, argument, _stream, _written_back, words):
            self.converted.append(kind)
            if isinstance(argument, tuple):
                words += [1, 2, 7 if numba_makes_other_words else 3, *map(ctypes.c_int64, argument[2:])]
            else:
                words.append(ctypes.c_int64(argument))

    class Configured:
        dispatcher = SimpleNamespace(overloads={(ARC_BATCH, nb.int64, nb.uint32): Compiled()})
        griddim, blockdim, sharedmem, stream = (3, 1, 1), (64, 1, 1), 8, "stream"

        def __call__(self, *arguments):
            by_numba.append(arguments[1])

    by_numba, launched = [], []
    monkeypatch.setattr(cuda.core, "LaunchConfig", lambda **shape: tuple(shape.values()))
    monkeypatch.setattr(cuda.core, "launch", lambda *words: launched.append(words))
    monkeypatch.setattr(kernel_launch, "as_numba_has_it", lambda argument: argument)
    launch = kernel_launch.KernelLaunch(Configured(), number=-7)  # of a GPU that no thread has used
    arrays = device_array(nb.int32[::1], (1, 2)), device_array(nb.int64[::1], (3,))
    block = as_device_array(ArcBatch(*arrays, np.int64(4), np.int64(5)))
    for last in range(4):
        launch(block, np.int64(last), np.uint32(6))
    if numba_makes_other_words:
        assert (by_numba, launched) == ([0, 1, 2, 3], [])
        return
    shape = ((3, 1, 1), (64, 1, 1), 8)
    plain = [tuple(getattr(word, "value", word) for word in words) for words in launched]
    assert plain == [("stream", shape, "function", 1, 2, 3, 4, 5, last, 6) for last in (1, 2, 3)]
    assert Compiled.converted == [ARC_BATCH, nb.int64, nb.uint32] + 4 * [nb.uint32]  # once to compare; int64 are plain
    launch(block, 4, np.uint32(6))  # an int may have another type than the last one had
    thread = threading.Thread(target=launch, args=(block, np.int64(9), np.uint32(6)))
    thread.start()  # which has no context of the GPU before Numba launches
    thread.join()
    assert by_numba == [0, 4, 9]


class Stream:
    """CuPy's, as far as it is asked here: what is put on a stream that records, or waits for one, is recorded."""

    current = None
    end = staticmethod(lambda: None)

    def __init__(self):
        self.recorded = None

    def __enter__(self):
        Stream.current = self

    def __exit__(self, *_):
        Stream.current = None

    def begin_capture(self):
        self.recorded = []

    def end_capture(self):
        recorded, self.recorded = self.recorded, None
        self.end()
        return SimpleNamespace(launch=lambda: [launch() for launch in recorded])

    def record(self):
        return self.recorded

    def wait_event(self, recorded):
        self.recorded = recorded


@pytest.fixture
def streams(monkeypatch):
    from cusubmatch.engines.gpu.runtime import cuda

    made = [Stream() for _ in range(3)]
    monkeypatch.setattr(cuda, "_recording_streams", lambda _device, number: made[:number])
    device = SimpleNamespace(Device=lambda: SimpleNamespace(id=0))
    monkeypatch.setitem(sys.modules, "cupy", SimpleNamespace(cuda=device))
    return made


def test_what_is_recorded_is_done_again_as_one_launch(streams):
    from cusubmatch.engines.gpu.runtime import cuda

    done, used = [], []

    def launcher(name):
        def launch():
            used.append(Stream.current)
            Stream.current.recorded.append(lambda: done.append(name))

        return launch

    again = cuda.record(launcher("first"), [launcher("second"), launcher("third")])
    assert used == streams
    assert done == []
    again()
    again()
    assert done == ["first", "second", "third"] * 2
    assert Stream.current is None


@pytest.mark.parametrize("where", ["first", "other", "end"])
def test_what_cannot_be_recorded_is_left_to_single_launches(where, streams, monkeypatch):
    from cusubmatch.engines.gpu.runtime import cuda

    def fails():
        raise RuntimeError(where)

    def nothing():
        pass

    monkeypatch.setattr(Stream, "end", staticmethod(fails if where == "end" else nothing))
    first, other = (fails if where == name else nothing for name in ("first", "other"))
    assert cuda.record(first, [nothing, other]) is None
    assert Stream.current is None
