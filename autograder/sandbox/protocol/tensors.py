"""The numbers of a frame: the bytes of torch's tensors and numpy's arrays under the names that
safetensors gives to their dtypes, and back.

What comes back is hostile, as in `frames`. torch and numpy are imported only when there is one.
"""

from functools import cache

ITEM_BYTES = {
    "BOOL": 1,
    "U8": 1,
    "I8": 1,
    "I16": 2,
    "U16": 2,
    "I32": 4,
    "U32": 4,
    "I64": 8,
    "U64": 8,
    "F16": 2,
    "BF16": 2,
    "F32": 4,
    "F64": 8,
}
# The names that torch and numpy give to the dtypes of safetensors; what is not here does not cross.
TORCH_NAMES = {
    "BOOL": "bool",
    "U8": "uint8",
    "I8": "int8",
    "I16": "int16",
    "I32": "int32",
    "I64": "int64",
    "F16": "float16",
    "BF16": "bfloat16",
    "F32": "float32",
    "F64": "float64",
}
NUMPY_NAMES = {
    "BOOL": "bool",
    "U8": "uint8",
    "I8": "int8",
    "I16": "int16",
    "U16": "uint16",
    "I32": "int32",
    "U32": "uint32",
    "I64": "int64",
    "U64": "uint64",
    "F16": "float16",
    "F32": "float32",
    "F64": "float64",
}


class ProtocolError(Exception):
    """Bytes that are not a frame.

    The message says what is wrong with them, for the record and for the student.
    """


class Unsendable(Exception):
    """A value that no frame can hold; a sentence fragment such as "a numpy array of dtype
    complex64".
    """


def tensor_bytes(tensor, torch) -> tuple[str, tuple, bytes]:
    """A tensor's dtype, shape and bytes. Raises Unsendable for one that does not cross."""
    dtype = _torch_codes().get(tensor.dtype)
    if dtype is None or tensor.layout is not torch.strided or tensor.device.type != "cpu":
        raise Unsendable(
            f"a tensor of dtype {tensor.dtype}, layout {tensor.layout}, on the device"
            f" {tensor.device}"
        )
    flat = tensor.detach().resolve_conj().resolve_neg().contiguous().reshape(-1)
    return (
        dtype,
        tuple(tensor.shape),
        flat.view(torch.uint8).numpy().tobytes() if flat.numel() else b"",
    )


@cache
def _torch_codes() -> dict:
    """The names that safetensors gives to torch's dtypes."""
    import torch

    return {getattr(torch, name): code for code, name in TORCH_NAMES.items()}


def array_bytes(array, numpy) -> tuple[str, tuple, bytes]:
    """The same of a numpy array."""
    dtype = next(
        (
            code
            for code, name in NUMPY_NAMES.items()
            if array.dtype.newbyteorder("=") == numpy.dtype(name)
        ),
        None,
    )
    if dtype is None:
        raise Unsendable(f"a numpy array of dtype {array.dtype}")
    return dtype, array.shape, array.astype(NUMPY_NAMES[dtype], order="C").tobytes()


def numbers_of(
    what: str, dtype: str, shape: tuple, begin: int, end: int, data: memoryview
) -> object:
    """The tensor or array that these bytes are. Raises ProtocolError."""
    name = (TORCH_NAMES if what == "tensor" else NUMPY_NAMES).get(dtype)
    if name is None:
        raise ProtocolError(f"no {what} has the dtype {dtype}")
    raw = bytearray(data[begin:end])
    if dtype == "BOOL" and raw.translate(None, b"\x00\x01"):
        raise ProtocolError(
            "a bool that is neither 0 nor 1"
        )  # undefined behaviour in both libraries
    if what == "array":
        import numpy

        return numpy.frombuffer(raw, dtype=name).reshape(shape)  # writable, because a bytearray is
    import torch

    if not raw:
        return torch.empty(shape, dtype=getattr(torch, name))
    return torch.frombuffer(raw, dtype=getattr(torch, name)).reshape(shape)
