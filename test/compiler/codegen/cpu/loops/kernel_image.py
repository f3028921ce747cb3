"""Compiles kernels with nx-kernelc and calls them from the code image."""
import ctypes
import mmap
import os
import subprocess
import tempfile

import ml_dtypes  # comes with onnx
import numpy as np

BF16 = np.dtype(ml_dtypes.bfloat16)


class _Call(ctypes.Structure):
    _fields_ = [("operand", ctypes.c_void_p), ("dim", ctypes.c_void_p), ("scratch", ctypes.c_void_p)]


class _Kernel(ctypes.Structure):
    _fields_ = [(n, ctypes.c_void_p) for n in ("run", "tiles", "scratch_bytes", "grain")]


class _Module(ctypes.Structure):
    _fields_ = [("abi_version", ctypes.c_uint32), ("kernel_count", ctypes.c_uint32),
                ("kernels", ctypes.POINTER(_Kernel))]


_RUN = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
_SIZE = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)
_libc = ctypes.CDLL(None)
_libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]


class Guarded:
    """Memory that ends at a page which cannot be touched (or begins at one)."""

    def __init__(self, nbytes, at_end=True, align=1):
        page = mmap.PAGESIZE
        body = max(page, (nbytes + page - 1) // page * page)
        self._map = mmap.mmap(-1, body + 2 * page)
        self._view = (ctypes.c_char * len(self._map)).from_buffer(self._map)
        base = ctypes.addressof(self._view)
        for guard in (base, base + page + body):
            if _libc.mprotect(guard, page, 0):
                raise OSError("mprotect")
        start = base + page
        self.address = start + (body - nbytes) // align * align if at_end else start
        self.nbytes = nbytes

    def array(self, shape, dtype):
        raw = (ctypes.c_uint8 * max(self.nbytes, 1)).from_address(self.address)
        return np.frombuffer(raw, dtype=np.uint8, count=self.nbytes).view(dtype).reshape(shape)


class Kernel:
    def __init__(self, table):
        self._run = _RUN(table.run)
        self._tiles, self._scratch, self._grain = (_SIZE(getattr(table, n))
                                                   for n in ("tiles", "scratch_bytes", "grain"))

    def sizes(self, dims):
        d = (ctypes.c_int64 * max(1, len(dims)))(*dims)
        return self._tiles(d), self._scratch(d), self._grain(d)

    def bind(self, operands, dims):
        """A function (begin, end) -> status over `operands`: arrays, inputs before outputs."""
        pointers = (ctypes.c_void_p * len(operands))(*[a.ctypes.data for a in operands])
        d = (ctypes.c_int64 * max(1, len(dims)))(*dims)
        scratch = Guarded(self._scratch(d), align=64)
        call = _Call(ctypes.cast(pointers, ctypes.c_void_p), ctypes.cast(d, ctypes.c_void_p),
                     scratch.address)
        address = ctypes.addressof(call)
        run = self._run
        keep = (pointers, d, scratch, call, operands)

        def go(begin, end, keep=keep):
            return run(address, begin, end)
        return go


class Image:
    def __init__(self, source, tool="nx-kernelc", options=()):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "image.so")
            done = subprocess.run([tool, source, "-o", path, *options], capture_output=True, text=True)
            if done.returncode:
                raise RuntimeError(done.stderr.strip())
            self.names = done.stdout.split()
            with open(path, "rb") as file:
                header = file.read(64)
            self.bytes = os.path.getsize(path)
            self._lib = ctypes.CDLL(path)
        # glibc's handle is the link map, whose first field is the load address.
        base = ctypes.c_uint64.from_address(self._lib._handle).value
        entry = int.from_bytes(header[24:32], "little")
        module = ctypes.CFUNCTYPE(ctypes.POINTER(_Module))(base + entry)().contents
        assert module.kernel_count == len(self.names)
        self._kernels = {n: Kernel(module.kernels[i]) for i, n in enumerate(self.names)}

    def __getitem__(self, name):
        return self._kernels[name]
