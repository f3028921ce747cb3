"""libnxrt through ctypes: as much of it as tests and benchmarks need."""
import ctypes as c

import numpy as np

MAX_RANK = 16
# Numbers of nxrt_dtype.
DTYPES = {"float32": 1, "float64": 2, "float16": 3, "bfloat16": 4, "int64": 5, "int32": 6, "int16": 7, "int8": 8,
          "uint64": 9, "uint32": 10, "uint16": 11, "uint8": 12, "bool": 13,
          "float8_e4m3fn": 16, "float8_e5m2": 17, "float8_e4m3fnuz": 18, "float8_e5m2fnuz": 19, "float8_e8m0fnu": 20}
NAMES = {number: name for name, number in DTYPES.items()}


class Error(RuntimeError):
    """A call that the library refused, with its status and its sentence."""

    def __init__(self, status, text):
        super().__init__(text)
        self.status = status


class Config(c.Structure):
    _fields_ = [("struct_size", c.c_uint32), ("threads_per_core", c.c_uint32), ("num_cores", c.c_uint32),
                ("visible_cores", c.c_char_p), ("exec_timeout_ms", c.c_uint64), ("core_memory_bytes", c.c_uint64),
                ("log_level", c.c_int), ("log_location", c.c_char_p)]


class TensorInfo(c.Structure):
    _fields_ = [("struct_size", c.c_uint32), ("dtype", c.c_int), ("rank", c.c_uint32), ("reserved", c.c_uint32),
                ("dims", c.c_int64 * MAX_RANK), ("bytes", c.c_uint64), ("data", c.c_void_p)]


class IoInfo(c.Structure):
    _fields_ = [("struct_size", c.c_uint32), ("dtype", c.c_int), ("name", c.c_char_p), ("rank", c.c_uint32),
                ("reserved", c.c_uint32), ("dims", c.c_int64 * MAX_RANK), ("dim_symbols", c.c_char_p * MAX_RANK)]


class Runtime:
    """The library between nxrt_init and nxrt_close."""

    def __init__(self, path, threads_per_core=1):
        self.library = c.CDLL(str(path))
        self.library.nxrt_last_error.restype = c.c_char_p
        config = Config(struct_size=c.sizeof(Config), threads_per_core=threads_per_core)
        self.check(self.library.nxrt_init(c.byref(config)))

    def check(self, status):
        if status != 0:
            raise Error(status, self.library.nxrt_last_error().decode())

    def load(self, path):
        return Model(self, path)

    def close(self):
        self.check(self.library.nxrt_close())


class Model:
    def __init__(self, runtime, path):
        self.runtime, self.library = runtime, runtime.library
        self.handle = c.c_void_p()
        runtime.check(self.library.nxrt_load(str(path).encode(), None, c.byref(self.handle)))
        self.inputs, self.outputs = self.new_set(), self.new_set()

    def new_set(self):
        handle = c.c_void_p()
        self.runtime.check(self.library.nxrt_tensor_set_create(c.byref(handle)))
        return handle

    def feed(self, arrays):
        """Sets the inputs of the executions that follow."""
        for name, array in arrays.items():
            array = np.asarray(array, order="C")  # scalars stay scalars
            tensor = c.c_void_p()
            dims = (c.c_int64 * max(array.ndim, 1))(*array.shape)
            self.runtime.check(self.library.nxrt_tensor_allocate(DTYPES[array.dtype.name], array.ndim, dims,
                                                                 c.byref(tensor)))
            self.runtime.check(self.library.nxrt_tensor_write(tensor, c.c_uint64(0), array.ctypes.data_as(c.c_void_p),
                                                              c.c_uint64(array.nbytes)))
            self.runtime.check(self.library.nxrt_tensor_set_add(self.inputs, name.encode(), tensor))
            self.library.nxrt_tensor_free(tensor)

    def execute(self):
        self.runtime.check(self.library.nxrt_execute(self.handle, None, self.inputs, self.outputs))

    def close(self):
        self.library.nxrt_tensor_set_free(self.inputs)
        self.library.nxrt_tensor_set_free(self.outputs)
        self.runtime.check(self.library.nxrt_unload(self.handle))

    def output(self, index):
        """A copy of output number `index` of the last execution."""
        io = IoInfo(struct_size=c.sizeof(IoInfo))
        self.runtime.check(self.library.nxrt_get_output_info(self.handle, None, c.c_uint32(index), c.byref(io)))
        tensor = c.c_void_p()
        self.runtime.check(self.library.nxrt_tensor_set_get(self.outputs, io.name, c.byref(tensor)))
        info = TensorInfo(struct_size=c.sizeof(TensorInfo))
        self.runtime.check(self.library.nxrt_tensor_get_info(tensor, c.byref(info)))
        raw = c.string_at(info.data, info.bytes)
        return np.frombuffer(raw, np.dtype(NAMES[info.dtype])).reshape(info.dims[:info.rank])
