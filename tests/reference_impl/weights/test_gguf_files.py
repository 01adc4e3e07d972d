"""GGUF: numbers against the `gguf` package and by hand, the table, and what a damaged header is
told.
"""

import struct

import gguf
import numpy as np
import pytest
import torch

from reference_impl.weights.gguf_blocks import BLOCK_TYPES, dequantize
from reference_impl.weights.gguf_files import read_gguf
from reference_impl.weights.shards import WeightsError
from tests.reference_impl.weights.conftest import gguf_bytes, text


@pytest.mark.parametrize(
    "type_",
    [
        gguf.GGMLQuantizationType.F32,
        gguf.GGMLQuantizationType.F16,
        gguf.GGMLQuantizationType.Q4_0,
        gguf.GGMLQuantizationType.Q4_1,
        gguf.GGMLQuantizationType.Q8_0,
    ],
)
def test_numbers_are_those_of_the_gguf_package_bit_for_bit(tmp_path, type_):
    draw = np.random.default_rng(int(type_))
    matrix = (
        draw.standard_normal((3, 5, 64)) * np.exp(draw.standard_normal((3, 5, 1)) * 4)
    ).astype(np.float32)
    quantized = gguf.quants.quantize(matrix, type_)
    writer = gguf.GGUFWriter(tmp_path / "x.gguf", "llama")
    writer.add_tensor("other", np.ones(7, np.float32))
    writer.add_tensor("x", quantized, raw_dtype=type_)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    ours = read_gguf(tmp_path / "x.gguf").tensor("x")
    assert ours.shape == (3, 5, 64) and ours.dtype == torch.float32
    assert np.array_equal(ours.numpy(), gguf.quants.dequantize(quantized, type_))


@pytest.mark.parametrize(
    "type_, block, numbers",
    [
        # Scale 0.5, minimum -1, first byte 0x73: 0.5 * 3 - 1 and, sixteen later, 0.5 * 7 - 1; all
        # other bytes 0x00.
        (3, struct.pack("<ee16B", 0.5, -1, 0x73, *[0] * 15), [0.5, *[-1] * 15, 2.5, *[-1] * 15]),
        # Scale 2: (3 - 8) * 2 and (7 - 8) * 2; the others (8 - 8) * 2.
        (2, struct.pack("<e16B", 2, 0x73, *[0x88] * 15), [-10, *[0] * 15, -2, *[0] * 15]),
        # Scales 1 and 2; the first small block has s = 3, m = 1, the fifth s = 16 + 2 (its upper
        # bits in byte 0): first q 5 and 7.
        (
            12,
            struct.pack(
                "<ee12B128B",
                1,
                2,
                3 | 1 << 6,
                0,
                0,
                0,
                1,
                0,
                0,
                0,
                2,
                0,
                0,
                0,
                0x05,
                *[0] * 63,
                0x07,
                *[0] * 63,
            ),
            [13, *[-2] * 31, *[0] * 96, 18 * 7, *[0] * 127],
        ),
        # Scale 0.5, s = -4 for the first sixteen and 0 after: q = 0x21 - 32 = 1 and q = 0 - 32.
        (
            14,
            struct.pack("<128B64B16be", 1, *[0] * 127, 2, *[0] * 63, -4, *[0] * 15, 0.5),
            [-2, *[64] * 15, *[0] * 240],
        ),
        # Scale 0.25: signed bytes, from -128 to 127.
        (8, struct.pack("<e32b", 0.25, -128, 127, *[4] * 30), [-32, 31.75, *[1] * 30]),
    ],
)
def test_a_block_worked_by_hand(type_, block, numbers):
    kind = BLOCK_TYPES[type_]
    assert dequantize(np.frombuffer(block, kind.layout), kind).tolist() == numbers


def test_the_real_file_has_the_numbers_and_values_that_the_gguf_package_reads(
    smollm2_file, their_smollm2_file
):
    theirs = their_smollm2_file
    assert list(smollm2_file.places) == [tensor.name for tensor in theirs.tensors]
    assert len(smollm2_file.places) == 272
    for tensor in [*theirs.tensors[1:11], theirs.tensors[-1]]:
        assert np.array_equal(
            smollm2_file.tensor(tensor.name).numpy(),
            gguf.quants.dequantize(tensor.data, tensor.tensor_type),
        ), tensor.name
    for name, value in smollm2_file.metadata.items():
        field = theirs.fields[name]
        if not isinstance(value, (list, np.ndarray)):
            assert value == field.contents(), name
        else:
            assert len(value) == len(field.data) and list(value[-100:]) == field.contents(
                slice(-100, None)
            ), name


def test_values_of_all_types_are_read(tmp_path):
    writer = gguf.GGUFWriter(tmp_path / "x.gguf", "llama")
    for kind, value in (
        ("uint8", 200),
        ("int8", -3),
        ("uint16", 60_000),
        ("int16", -300),
        ("uint32", 2**31),
        ("int32", -5),
        ("float32", 0.5),
        ("uint64", 2**63),
        ("int64", -(2**40)),
        ("float64", 0.1),
        ("bool", True),
        ("string", "naïve"),
    ):
        getattr(writer, f"add_{kind}")(kind, value)
    writer.add_array("numbers", [1, -2, 3])
    writer.add_array("texts", ["a", "", "ü"])
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    values = dict(read_gguf(tmp_path / "x.gguf").metadata)
    assert values.pop("numbers").tolist() == [1, -2, 3]
    assert values == {
        "general.architecture": "llama",
        "uint8": 200,
        "int8": -3,
        "uint16": 60_000,
        "int16": -300,
        "uint32": 2**31,
        "int32": -5,
        "float32": 0.5,
        "uint64": 2**63,
        "int64": -(2**40),
        "float64": 0.1,
        "bool": True,
        "string": "naïve",
        "texts": ["a", "", "ü"],
    }


U32, ARRAY, STRING = 4, 9, 8
ONE = struct.pack("<I", 1)


def array(inner, length, content=b""):
    return struct.pack("<IQ", inner, length) + content


@pytest.mark.parametrize(
    "content, says",
    [
        (b"", "its mark takes 4 bytes"),
        (b"PK\3\4" + b"\0" * 40, r"begins with b'PK\\x03\\x04'"),
        (gguf_bytes(version=1), "its version is 1"),
        (gguf_bytes(version=3 << 24), "it is big-endian"),
        (gguf_bytes(num_values=2**62), "4,611,686,018,427,387,904 values and 0 tensors don't fit"),
        (gguf_bytes(num_tensors=2**63), "0 values and 9,223,372,036,854,775,808 tensors don't fit"),
        (gguf_bytes([("a", U32, ONE), ("a", U32, ONE)]), "the value 'a' is there twice"),
        (gguf_bytes([("a", 13, ONE)]), "'a' has the type 13"),
        (
            gguf_bytes([("a", STRING, struct.pack("<Q", 2**63) + b"x")]),
            "a text of 'a' is said to have 9,223,372,036,854,775,808 bytes",
        ),
        (gguf_bytes([("a", STRING, text(b"\xff\xfe"))]), "'a' is not UTF-8"),
        (
            gguf_bytes([("a", ARRAY, array(U32, 2**60))]),
            "'a' takes 4,611,686,018,427,387,904 bytes",
        ),
        (
            gguf_bytes([("a", ARRAY, array(STRING, 2**60))]),
            "'a' is said to hold 1,152,921,504,606,846,976 texts",
        ),
        (gguf_bytes([("a", ARRAY, array(ARRAY, 1))]), "'a' is an array of type 9"),
        (
            gguf_bytes(tensors=[("t", [4], 0, 0)] * 2, content=b"\0" * 64),
            "the tensor 't' is there twice",
        ),
        (
            gguf_bytes(tensors=[("t", [], 0, 0)], content=b"\0" * 64),
            "'t' is said to have 0 dimensions",
        ),
        (
            gguf_bytes(tensors=[("t", [1] * 5, 0, 0)], content=b"\0" * 64),
            "'t' is said to have 5 dimensions",
        ),
        (
            gguf_bytes(tensors=[("t", [2**60] * 4, 0, 0)], content=b"\0" * 64),
            r"'t' of shape \(1152921504606846976,",
        ),
        (
            gguf_bytes(tensors=[("t", [2**63, 2], 0, 0)], content=b"\0" * 64),
            "said to lie from byte",
        ),
        (gguf_bytes(tensors=[("t", [0], 0, 0)], content=b"\0" * 64), "rows of 't' have 0 numbers"),
        (gguf_bytes(tensors=[("t", [33], 3, 0)], content=b"\0" * 64), "Q4_1 has blocks of 32"),
        (gguf_bytes(tensors=[("t", [4], 0, 2**63)], content=b"\0" * 64), "said to lie from byte"),
        (
            gguf_bytes(tensors=[("t", [4], 0, 4)], content=b"\0" * 64),
            "tensors begin at multiples of 32",
        ),
        (gguf_bytes(tensors=[("t", [16], 0, 0)], content=b"\0" * 63), "said to lie from byte"),
        (
            gguf_bytes(tensors=[("t", [16], 0, 0), ("u", [1], 0, 32)], content=b"\0" * 64),
            "'t' and 'u' overlap",
        ),
        (gguf_bytes([("general.alignment", U32, struct.pack("<I", 0))]), "its alignment is 0"),
        (gguf_bytes([("general.alignment", U32, struct.pack("<I", 24))]), "its alignment is 24"),
        (gguf_bytes([("general.alignment", STRING, text("32"))]), "its alignment is '32'"),
        (
            gguf_bytes(tensors=[("t", [256], 16, 0)], content=b"\0" * 512),
            r"'t' in the type 16; read here are F32 \(0\)",
        ),
        (gguf_bytes(tensors=[("t", [288], 12, 0)], content=b"\0" * 512), "Q4_K has blocks of 256"),
    ],
)
def test_a_damaged_header_says_what_is_wrong(tmp_path, content, says):
    (tmp_path / "x.gguf").write_bytes(content)
    with pytest.raises(WeightsError, match=says):
        read_gguf(tmp_path / "x.gguf")


def test_no_file_a_folder_and_an_unknown_tensor_are_named(tmp_path):
    with pytest.raises(WeightsError, match="none.gguf does not exist"):
        read_gguf(tmp_path / "none.gguf")
    with pytest.raises(WeightsError, match="can't be read"):
        read_gguf(tmp_path)
    (tmp_path / "x.gguf").write_bytes(gguf_bytes(tensors=[("t", [2], 0, 0)], content=b"\0" * 8))
    file = read_gguf(tmp_path / "x.gguf")
    assert file.tensor("t").tolist() == [0, 0]
    with pytest.raises(WeightsError, match="has no tensor 'u'"):
        file.tensor("u")
    (tmp_path / "x.gguf").write_bytes(b"GGUF")
    with pytest.raises(WeightsError, match="became shorter"):
        file.tensor("t")
