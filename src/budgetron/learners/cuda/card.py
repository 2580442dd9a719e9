"""The arrays of a card: CuPy, and the kernels of ``walks.cu``, which it compiles on first use and keeps."""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache, cached_property
from importlib import resources
from typing import Any

import numpy as np
import numpy.typing as npt

from budgetron.learners.cuda.arrays import MOST_OUTPUTS, ROWS, WALK, Arrays

FEATURES = 128  # of a thread block of the filters' walk
THREADS = 256
PLAIN = 544  # of the walk of plain filters: one warp decides, the others follow


@cache
def cupy() -> Any:
    """CuPy, if it is installed and finds a card; otherwise an error that says what is missing."""
    try:
        import cupy
    except ImportError as error:
        raise ImportError(
            "device=\"cuda\" needs CuPy: pip install 'cupy-cuda13x>=13.6', or 'cupy-cuda12x>=13'."
        ) from error
    try:
        count = cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError as error:
        raise RuntimeError(
            f'device="cuda" needs a driver of NVIDIA and a card, and CUDA says: {error}. Use device="cpu".'
        ) from error
    if not count:
        raise RuntimeError('device="cuda" needs a card of NVIDIA, and there is none: use device="cpu".')
    return cupy


@cache
def _module(real: str, each: int, device: int) -> Any:  # noqa: ARG001
    """The compiled kernels for a type of numbers, and so many scores of a lane, on the present device."""
    source = resources.files("budgetron.learners.cuda").joinpath("walks.cu").read_text(encoding="utf-8")
    sizes = {
        "ROWS": ROWS,
        "WALK": WALK,
        "FEATURES": FEATURES,
        "THREADS": THREADS,
        "PLAIN": PLAIN,
        "EACH": each,
    }
    options = [f"-D{name}={value}" for name, value in sizes.items()]
    single = real == "float32"
    return cupy().RawModule(code=source, options=("-std=c++17", f"-DSINGLE={int(single)}", *options))


_IDLE: dict[int, list[Any]] = {}
"""Handles of cuBLAS with their work space, by device, which nobody uses now. To destroy one waits for the
device, and breaks what another thread records."""


class Blas:
    """Products of matrices with rows in order, on one stream.

    CuPy's own take ten times as long to begin, and cannot be recorded.
    """

    def __init__(self, xp: Any, real: np.dtype[Any], stream: Any) -> None:
        xp.cuda.device.get_cublas_handle()  # loads the library
        with open("/proc/self/maps", encoding="utf-8") as maps:
            path = next(line.split()[-1] for line in maps if "/libcublas.so" in line)
        library, number, pointer = ctypes.CDLL(path), ctypes.c_int, ctypes.c_void_p
        idle = _IDLE.setdefault(xp.cuda.Device().id, [])
        try:
            held = idle.pop()
        except IndexError:
            held = pointer(), xp.empty(1 << 25, dtype=xp.uint8)
            library.cublasCreate_v2(ctypes.byref(held[0]))
        weakref.finalize(self, idle.append, held).atexit = False
        self._handle, space = held
        library.cublasSetStream_v2(self._handle, pointer(stream.ptr))
        library.cublasSetWorkspace_v2(self._handle, pointer(space.data.ptr), ctypes.c_size_t(1 << 25))
        self._gemm = library.cublasSgemm_v2 if real == np.float32 else library.cublasDgemm_v2
        matrix = (pointer, number)
        self._gemm.argtypes = [pointer, *5 * (number,), pointer, *matrix, *matrix, pointer, *matrix]
        kind = ctypes.c_float if real == np.float32 else ctypes.c_double
        self._numbers = {v: kind(v) for v in (-1.0, 0.0, 1.0)}
        self._factors = {v: ctypes.addressof(held) for v, held in self._numbers.items()}
        self._one = real.itemsize

    def add_product(
        self, C: Any, A: Any, B: Any, of_A: bool, of_B: bool, alpha: float, beta: float
    ) -> None:
        """C = beta C + alpha A B. The library has columns for rows, so C' = beta C' + alpha B' A'."""
        (m, n), one = C.shape, self._one
        failed = self._gemm(
            self._handle, int(of_B), int(of_A), n, m, A.shape[0 if of_A else 1], self._factors[alpha],
            B.data.ptr, B.strides[0] // one, A.data.ptr, A.strides[0] // one,
            self._factors[beta], C.data.ptr, C.strides[0] // one,
        )  # fmt: skip
        if failed:
            raise RuntimeError(f"A product of matrices failed on the card: cuBLAS says {failed}.")


class Card(Arrays):
    """Arrays on the present device of CuPy, with a stream of their own."""

    def __init__(self, dtype: npt.DTypeLike) -> None:
        super().__init__(dtype)
        self.xp = cupy()
        self._device = self.xp.cuda.Device()
        self._stream = self.xp.cuda.Stream(non_blocking=True)
        self._lane = 0  # of those side by side
        self._repair = self.xp.ElementwiseKernel(
            "T p, T factor, T most, raw int64 counts",
            "T r",
            "T q = p; for (long long k = counts[1]; k > 0; --k) q *= factor; r = min(max(q, (T)0), most)",
            "budgetron_repair",
        )
        self._turn = self.xp.ElementwiseKernel(
            "T a, T scale", "T s, T c", "sincos(a, &s, &c); s *= scale; c *= scale", "budgetron_turn"
        )

    @cached_property
    def _lanes(self) -> list[tuple[Any, Blas]]:
        """Streams, and products on them."""
        with self._device:
            return [(self._stream, Blas(self.xp, self.real, self._stream))]

    @contextmanager
    def use(self) -> Iterator[None]:
        """In it, all work is on the device, in this order."""
        with self._device, self._stream:
            yield

    @property
    def most_features(self) -> float:
        return float(self._device.attributes["MultiProcessorCount"] * FEATURES)

    @property
    def free_bytes(self) -> float:
        """What the device has free, and what CuPy's pool holds and does not use."""
        with self._device:
            pool = self.xp.get_default_memory_pool()
            return float(self.xp.cuda.runtime.memGetInfo()[0] + pool.free_bytes())

    def array(self, values: Any, dtype: npt.DTypeLike | None = None) -> Any:
        return self.xp.array(values, dtype=self.real if dtype is None else dtype)

    def host(self, values: Any) -> npt.NDArray[Any]:
        return np.asarray(self.xp.asnumpy(values))

    def taken(self, X: Any, as_they_are: bool = False) -> Any:
        rows = X if isinstance(X, self.xp.ndarray) else self.xp.from_dlpack(X)
        self._device.synchronize()  # who made the rows may still be at work
        return rows if as_they_are else rows.astype(self.real, copy=False)

    def turn(self, angles: Any, scale: float, sines: Any, cosines: Any) -> None:
        self._turn(angles, np.array(scale, self.real)[()], sines, cosines)

    def add_product(
        self,
        C: Any,
        A: Any,
        B: Any,
        of_A: str = "N",
        of_B: str = "N",
        alpha: float = 1.0,
        beta: float = 0.0,
    ) -> None:
        self._lanes[self._lane][1].add_product(C, A, B, of_A == "T", of_B == "T", alpha, beta)

    def repair(self, diagonal: Any, most: float, counts: Any) -> None:
        numbers = np.array([self.limits.repair, most], self.real)
        self._repair(diagonal, numbers[0], numbers[1], counts, diagonal)

    # ---- walks

    def prepare(self, filters: Sequence[Any], rules: Sequence[Any]) -> None:
        outputs = max(expert.outputs for expert in (*filters, *rules))
        module = _module(self.real.name, 1 if outputs <= 32 else MOST_OUTPUTS // 32, self._device.id)
        self._pool, self._blocks = self.xp.cuda.MemoryPool(), 0
        exact = [expert for expert in filters if not expert.plain]
        self._filter_walks = list(self._launches(module.get_function("walk_filters"), exact))
        self._plain_walks = []
        if plain := [expert for expert in filters if expert.plain]:
            kernel, most = module.get_function("walk_plain"), max(expert.outputs for expert in plain)
            table = np.array([self._of_filter(expert, 1, 0, expert.S) for expert in plain], dtype=np.int64)
            shared = most * (WALK + 4) * 8
            kernel.max_dynamic_shared_size_bytes = max(shared, 49152)
            self._plain_walks = [(kernel, len(plain), shared, self.array(table, np.int64))]
        if rules:
            table = np.array([self._of_rule(rule) for rule in rules], dtype=np.int64)
            self._rule_table = self.array(table, np.int64)
            kernel = module.get_function("walk_rules")
            shared = rules[0].outputs * ROWS * self.real.itemsize
            inside = shared <= 2**17
            self._rule_walk = kernel, len(rules), shared if inside else 0, np.int32(inside)
            kernel.max_dynamic_shared_size_bytes = 2**17

    def _launches(self, kernel: Any, filters: list[Any]) -> Iterator[tuple[Any, ...]]:
        """All filters, in launches of as many blocks as run at once, since they wait for each other.

        Whatever else runs on the card ends by itself, so each of them gets its place.
        """
        most = self._device.attributes["MultiProcessorCount"]
        now: list[tuple[Any, int]] = []
        for expert in sorted(filters, key=lambda each: -len(each.variance)):
            blocks = -(-len(expert.variance) // FEATURES)
            if now and sum(count for _, count in now) + blocks > most:
                yield self._launch(kernel, now)
                now = []
            now.append((expert, blocks))
        if now:
            yield self._launch(kernel, now)

    def _launch(self, kernel: Any, experts: list[tuple[Any, int]]) -> tuple[Any, ...]:
        table, owners, first = [], list[int](), 0
        for number, (expert, blocks) in enumerate(experts):
            partial = self.zeros(2 * blocks * (WALK + 1))
            table.append((self._of_filter(expert, blocks, first, partial), partial))
            owners += [number] * blocks
            first += blocks
        arrived = self.zeros(len(experts), dtype=np.uint32)
        numbers = self.array(np.array([row for row, _ in table], dtype=np.int64), np.int64)
        shared = max(expert.outputs for expert, _ in experts) * (WALK + 2) * 8
        kernel.max_dynamic_shared_size_bytes = max(shared, 49152)
        places = self.array(np.array(owners), np.int32)
        return kernel, first, shared, numbers, places, arrived, [partial for _, partial in table]

    def _of_filter(self, e: Any, blocks: int, first: int, partial: Any) -> list[int]:
        arrays: tuple[Any, ...] = (e.V, e.Z, e.F, e.G, e.U, e.D, e.variance, e.out)
        arrays += (e.observed, e.stopped, e.noise, partial, e.S, e.T, e.R)
        sizes = (len(e.variance), e.full, e.outputs, int(e.labels), blocks, first)
        limits = e.limits
        numbers = e.prior, e.drift, limits.largest, limits.least, limits.most, limits.told, limits.repair
        return [*(array.data.ptr for array in arrays), *sizes, *_bits(numbers)]

    def _of_rule(self, e: Any) -> list[int]:
        arrays = (e.G, e.F, e.A, e.kxx, e.counts, e.norm2, e.total, e.out, e.stopped)
        rule = e.rule
        sizes = e.outputs, rule.kind, rule.loss, rule.task
        return [*(array.data.ptr for array in arrays), *sizes, *_bits(rule[3:])]

    def block(self, program: Any, rows: int) -> None:
        # Launches take longer than much of the work, so a whole block is recorded once, and replayed.
        # What it takes from memory for a while stays its own, in a pool of its own.
        if rows < ROWS:
            program.block(rows)
            return
        with self.xp.cuda.using_allocator(self._pool.malloc):
            if self._blocks == 0:
                program.block(rows)  # what is compiled or allocated on first use, is now
            elif self._blocks == 1:
                self._stream.begin_capture()
                try:
                    program.block(rows)
                finally:
                    self._recorded = self._stream.end_capture()
        self._blocks += 1
        if self._blocks > 1:
            self._recorded.launch(self._stream)

    def side_by_side(self, works: Sequence[Callable[[], None]]) -> None:
        """Each work on a stream of its own; what follows waits for all of them."""
        while len(self._lanes) < len(works):
            stream = self.xp.cuda.Stream(non_blocking=True)
            self._lanes.append((stream, Blas(self.xp, self.real, stream)))
        begun = self._stream.record()
        for self._lane, work in enumerate(works):
            stream, _ = self._lanes[self._lane]
            stream.wait_event(begun)
            with stream:
                work()
            self._stream.wait_event(stream.record())
        self._lane = 0

    def walk_filters(
        self, y: Any, weights: Any, first_row: Any, begin: int, rows: int, plain: bool
    ) -> None:
        where = y, weights, first_row, np.int32(begin), np.int32(rows)
        if plain:
            for kernel, blocks, shared, table in self._plain_walks:
                kernel((blocks,), (PLAIN,), (table, *where), shared_mem=shared)
            return
        for kernel, blocks, shared, table, owners, arrived, _ in self._filter_walks:
            arrived.fill(0)
            kernel((blocks,), (THREADS,), (table, owners, arrived, *where), shared_mem=shared)

    def walk_rules(self, y: Any, weights: Any, first_row: Any, rows: int) -> None:
        kernel, blocks, shared, inside = self._rule_walk
        arguments = self._rule_table, y, weights, first_row, np.int32(rows), inside
        kernel((blocks,), (32 + ROWS,), arguments, shared_mem=shared)

    def finish(self) -> None:
        self._stream.synchronize()


def _bits(numbers: Sequence[float]) -> list[int]:
    """Doubles as they stand in a table of 64-bit integers."""
    return [int(bits) for bits in np.array(numbers, dtype=np.float64).view(np.int64)]
