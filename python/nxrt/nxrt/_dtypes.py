"""Element types: the runtime's numbers, NumPy's names, and the types that NumPy lacks."""
from __future__ import annotations

from typing import Any

import numpy as np

from . import _nxrt

_NAMES = {"f32": "float32", "f64": "float64", "f16": "float16", "bf16": "bfloat16", "i64": "int64", "i32": "int32",
          "i16": "int16", "i8": "int8", "u64": "uint64", "u32": "uint32", "u16": "uint16", "u8": "uint8",
          "bool": "bool", "i4": "int4", "u4": "uint4", "f8e4m3fn": "float8_e4m3fn", "f8e5m2": "float8_e5m2"}
#: Types of the package ml_dtypes, by the width of the integer that carries their bits.
_CARRIED = {"bfloat16": np.uint16, "float8_e4m3fn": np.uint8, "float8_e5m2": np.uint8}


def name_of(dtype: int) -> str:
    """NumPy's name (or that of ml_dtypes) for a number of nxrt_dtype."""
    return _NAMES[_nxrt.dtype_name(dtype)]


#: Numbers of nxrt_dtype by name.
NUMBERS = {_NAMES[name]: number for number in range(256) if (name := _nxrt.dtype_name(number)) in _NAMES}


def numpy_dtype(name: str) -> np.dtype[Any]:
    """The NumPy type of that name; of ml_dtypes where NumPy has none."""
    if name in _CARRIED:
        try:
            import ml_dtypes
        except ImportError:
            raise ImportError(f"NumPy has no {name}; install the package ml_dtypes, or use torch tensors") from None
        return np.dtype(getattr(ml_dtypes, name))
    return np.dtype(name)


def is_special(name: str) -> bool:
    """Whether NumPy lacks this type."""
    return name in _CARRIED


def encode(array: np.ndarray[Any, Any]) -> Any:
    """An array of a type that NumPy lacks as one that the extension can read."""
    name = array.dtype.name
    return _nxrt.Raw(array.view(_CARRIED[name]), NUMBERS[name])


def decode(array: np.ndarray[Any, Any], name: str) -> np.ndarray[Any, Any]:
    """What the extension returned for a type that NumPy lacks as an array of that type."""
    return array.view(numpy_dtype(name))
