"""Frames: what goes in comes out with its exact type, and hostile bytes end in a ProtocolError and
little memory.
"""

import json
import math
import struct
import tracemalloc

import numpy as np
import pytest
import safetensors.torch
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from autograder.checks.assertions.values import same
from autograder.checks.inputs import arguments
from autograder.checks.inputs.arguments import Ours
from autograder.sandbox.protocol.frames import (
    MAX_DEPTH,
    MAX_KEYS,
    MAX_MESSAGE,
    TAGS,
    ProtocolError,
    Unsendable,
    pack,
    unpack,
)

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
scalars = (
    st.none() | st.booleans() | st.integers(-(2**200), 2**200) | st.floats(allow_nan=True) | texts
)
values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.lists(inner, max_size=4).map(tuple)
        | st.dictionaries(texts, inner, max_size=4)
    ),
    max_leaves=20,
)
TORCH_DTYPES = [
    torch.float16,
    torch.bfloat16,
    torch.float32,
    torch.float64,
    torch.bool,
    torch.uint8,
    torch.int8,
    torch.int16,
    torch.int32,
    torch.int64,
]
NUMPY_DTYPES = ["bool", "u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8", "f2", "f4", "f8"]


def there_and_back(value):
    return unpack(pack(value)[8:])


def frame_of(header, data=b""):
    """A frame written by hand, without the length in front."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def message(node, tensors=None, data=b""):
    return frame_of(
        {"__metadata__": {"message": node if isinstance(node, str) else json.dumps(node)}}
        | (tensors or {}),
        data,
    )


def tensor(dtype="F32", shape=(2,), begin=0, end=8):
    return {"dtype": dtype, "shape": list(shape), "data_offsets": [begin, end]}


@settings(
    suppress_health_check=[HealthCheck.too_slow]
)  # of drawing, when other tests take the processor
@given(values)
def test_plain_values_keep_their_types_and_values(value):
    assert same(there_and_back(value), value)
    assert repr(there_and_back(value)) == repr(value)


@pytest.mark.parametrize("dtype", TORCH_DTYPES, ids=str)
@pytest.mark.parametrize("shape", [(), (0,), (3, 0, 2), (1,), (4, 5)], ids=str)
def test_tensors_keep_dtype_shape_and_bits(dtype, shape):
    value = (torch.arange(math.prod(shape)).reshape(shape) % 3 - int(dtype.is_signed)).to(dtype)
    back = there_and_back([value])[0]
    assert (
        type(back) is torch.Tensor
        and back.dtype == dtype
        and back.shape == value.shape
        and torch.equal(back, value)
    )


@pytest.mark.parametrize("dtype", NUMPY_DTYPES)
def test_arrays_keep_dtype_shape_and_bits(dtype):
    value = np.arange(6).reshape(2, 3).astype(dtype)
    back = there_and_back((value, np.array(5, dtype), np.empty((0, 2), dtype)))
    assert [one.dtype for one in back] == [np.dtype(dtype)] * 3 and [one.shape for one in back] == [
        (2, 3),
        (),
        (0, 2),
    ]
    assert np.array_equal(back[0], value) and type(back[0]) is np.ndarray


def test_a_big_endian_or_strided_array_arrives_as_the_same_numbers():
    value = np.arange(12, dtype=">i4").reshape(3, 4)[::2, 1::2]
    assert np.array_equal(there_and_back(value), value)


def test_not_a_number_and_infinities_arrive():
    back = there_and_back([float("nan"), float("-inf"), torch.tensor([math.nan, math.inf])])
    assert (
        math.isnan(back[0])
        and back[1] == -math.inf
        and back[2].isnan()[0]
        and back[2][1] == math.inf
    )


def test_what_arrives_can_be_written_to_and_shares_nothing():
    sent = torch.zeros(3)
    frame = pack([sent, np.zeros(2)])
    first, second = unpack(frame[8:]), unpack(frame[8:])
    first[0][0] = first[1][0] = 7
    assert second[0][0] == 0 and second[1][0] == 0 and sent[0] == 0


def test_the_safetensors_library_reads_our_frames():
    sent = {
        "a": torch.arange(6.0).reshape(2, 3),
        "b": [torch.tensor([True, False]), torch.ones(3, dtype=torch.bfloat16)],
    }
    read = safetensors.torch.load(pack(sent)[8:])
    assert (
        torch.equal(read["0"], sent["a"])
        and torch.equal(read["1"], sent["b"][0])
        and torch.equal(read["2"], sent["b"][1])
    )


def test_arguments_of_ours_cross_by_their_tag_and_only_where_they_are_expected():
    sent = {"args": (Ours("callback", 0), 3, [Ours("buffer", [torch.ones(2), (1,), (1,), 0])])}
    frame = pack(sent, Ours)
    got = unpack(frame[8:], lambda tag, inner: (tag, inner))
    assert got["args"][:2] == (("callback", 0), 3) and got["args"][2][0][0] == "buffer"
    for hostile in (frame[8:], *(message({tag: 0}) for tag in TAGS)):
        with pytest.raises(ProtocolError, match="stands for nothing known"):
            unpack(hostile)
    for node in (Ours("callback", 0), Ours("callback", Ours("callback", 0)), len):
        with pytest.raises(Unsendable):
            pack(node, Ours if node != Ours("callback", 0) else None)


def test_the_tags_of_arguments_are_those_that_frames_know():
    assert set(arguments.TAGS) == set(TAGS)


def test_dictionaries_cross_with_any_plain_keys_and_keep_their_types():
    sent = {1: "a", "1": b"b\x00", ("x", 2): [3], None: 4, 2.5: 5, b"k": 6, False: 7} | {
        ("a", ("b", 1)): 8
    }
    back = there_and_back(sent)
    assert (
        back == sent and list(map(type, back)) == list(map(type, sent)) and type(back["1"]) is bytes
    )


@pytest.mark.parametrize(
    "pairs",
    [
        [[1, 2], [1, 3]],
        [[[1], 2]],
        [[{"float": "nan"}, 2]],
        [[1]],
        [1],
        [[{"dict": {}}, 1]],
        [[2**63, 1]],
        [[{"tuple": [{"tuple": [{"tuple": []}]}]}, 1]],
        [[True, 1], [1, 2]],
    ],
    ids=str,
)
def test_a_dictionary_with_keys_that_are_not_plain_or_not_different_is_no_frame(pairs):
    with pytest.raises(ProtocolError):
        unpack(message({"pairs": pairs}))


def test_keys_made_to_collide_do_not_hold_up_the_checker():
    pairs = [
        [{"tuple": [i, 0]} if i % 2 else i * 2**20, 0] for i in range(MAX_KEYS + 1)
    ]  # hashes of both can be made to collide
    plain = {"pairs": [[1, 2]] * (MAX_KEYS + 1)}  # a text as a key, whatever it is
    assert unpack(message({"dict": plain})) == plain
    half = MAX_KEYS // 2 + 1
    for several in ({"pairs": pairs}, [{"pairs": pairs[:half]}, {"pairs": pairs[half:]}]):
        with pytest.raises(ProtocolError, match="keys that are not text, taken together"):
            unpack(message(several))


class Pretender(str):
    """A str in everything but its exact type."""


@pytest.mark.parametrize(
    "value",
    [
        Pretender("x"),
        {1j: 2},
        {Pretender("k"): 1},
        object(),
        1j,
        bytearray(b"b"),
        {1, 2},
        np.float64(1.0),
        np.array(["x"]),
        np.array([1j]),
        torch.ones(1).to_sparse(),
        torch.nn.Parameter(torch.ones(1)),
        torch.ones(1, dtype=torch.complex64),
        torch.ones(1, device="meta"),
        "\ud800",
        {"\udfff": 1},
        10**2000,
    ],
    ids=lambda v: type(v).__name__,
)
def test_what_is_not_in_the_contract_is_refused_when_it_is_sent(value):
    with pytest.raises(Unsendable):
        pack(value)


def nested(depth):
    value = 1
    for _ in range(depth):
        value = [value]
    return value


def test_nesting_has_a_limit_on_both_sides():
    assert there_and_back(nested(MAX_DEPTH)) == nested(MAX_DEPTH)
    with pytest.raises(Unsendable, match="levels"):
        pack(nested(MAX_DEPTH + 1))
    with pytest.raises(ProtocolError, match="levels"):
        unpack(message(nested(MAX_DEPTH + 1)))


HOSTILE = {
    "nothing": b"",
    "half a length": b"\1\2\3",
    "a length beyond the frame": struct.pack("<Q", 100) + b"{}",
    "the largest length": struct.pack("<Q", 2**64 - 1) + b"{}",
    "no JSON": frame_of(b"hello"),
    "no UTF-8": frame_of(b'{"\xff": 1}'),
    "no object": frame_of(b"[1]"),
    "no message": frame_of({}),
    "a message that is no text": frame_of({"__metadata__": {"message": 1}}),
    "metadata besides the message": frame_of({"__metadata__": {"message": "1", "more": "2"}}),
    "NaN": message("NaN"),
    "Infinity": message("[-Infinity]"),
    "a float that overflows": message("1e999"),
    "an int of 5000 digits": message("1" * 5000),
    "100,000 open brackets": message("[" * 100_000),
    "100,000 open objects": message('{"dict":' * 100_000),
    "the same key twice": message('{"dict":{"a":1,"a":2}}'),
    "the same key twice, above": message('{"tuple":[],"tuple":[1]}'),
    "the same key twice in the header": frame_of(
        b'{"__metadata__":{"message":"1"},"__metadata__":{"message":"2"}}'
    ),
    "half a surrogate pair": message('"\\ud800"'),
    "a key with half a pair": message('{"dict":{"\\ud800":1}}'),
    "two keys": message({"tuple": [], "list": []}),
    "an unknown tag": message({"object": "os.system"}),
    "a float from text": message({"float": "1.5"}),
    "a float from a list": message({"float": ["nan"]}),
    "a callback": message({"callback": 0}),
    "bytes that are not there": message({"bytes": 0}),
    "bytes that are a matrix": message({"bytes": 0}, {"0": tensor("U8", (2, 4), 0, 8)}, bytes(8)),
    "bytes that are numbers": message({"bytes": 0}, {"0": tensor()}, bytes(8)),
    "a tensor that is not there": message({"tensor": 0}),
    "a tensor by a bool": message({"tensor": True}, {"0": tensor()}, bytes(8)),
    "a tensor that is not mentioned": message(1, {"0": tensor()}, bytes(8)),
    "a tensor mentioned twice": message([{"tensor": 0}, {"tensor": 0}], {"0": tensor()}, bytes(8)),
    "an unknown dtype": message({"tensor": 0}, {"0": tensor("F128")}, bytes(8)),
    "a dtype that is a list": message(
        {"tensor": 0}, {"0": tensor() | {"dtype": ["F32"]}}, bytes(8)
    ),
    "a dtype that torch has not": message({"tensor": 0}, {"0": tensor("U64", (1,))}, bytes(8)),
    "a dtype that numpy has not": message({"array": 0}, {"0": tensor("BF16", (4,))}, bytes(8)),
    "a huge shape": message({"tensor": 0}, {"0": tensor(shape=(2**31 - 1, 2**31 - 1))}, bytes(8)),
    "a huge shape without elements": message(
        {"tensor": 0}, {"0": tensor(shape=(0, 2**31 - 1, 2**31 - 1), end=0)}
    ),
    "a size beyond 31 bits": message({"tensor": 0}, {"0": tensor(shape=(0, 2**40), end=0)}),
    "a negative size": message({"tensor": 0}, {"0": tensor(shape=(-2, -1))}, bytes(8)),
    "a size that is a float": message({"tensor": 0}, {"0": tensor(shape=(2.0,))}, bytes(8)),
    "a size that is true": message({"tensor": 0}, {"0": tensor(shape=(True, 2))}, bytes(8)),
    "too many dimensions": message({"tensor": 0}, {"0": tensor(shape=(1,) * 60, end=4)}, bytes(4)),
    "an end beyond the data": message({"tensor": 0}, {"0": tensor(shape=(4,), end=16)}, bytes(8)),
    "offsets backwards": message({"tensor": 0}, {"0": tensor(begin=8, end=0)}, bytes(8)),
    "offsets that are true": message(
        {"tensor": 0}, {"0": tensor("U8", (1,), False, True)}, bytes(1)
    ),
    "tensors that overlap": message(
        [{"tensor": 0}, {"tensor": 1}], {"0": tensor(), "1": tensor()}, bytes(8)
    ),
    "a gap between tensors": message({"tensor": 0}, {"0": tensor(begin=8, end=16)}, bytes(16)),
    "data left over": message({"tensor": 0}, {"0": tensor()}, bytes(9)),
    "a name out of order": message({"tensor": 0}, {"1": tensor()}, bytes(8)),
    "a field too many": message({"tensor": 0}, {"0": tensor() | {"run": "me"}}, bytes(8)),
    "a bool that is 2": message({"tensor": 0}, {"0": tensor("BOOL", (1,), 0, 1)}, b"\2"),
}


@pytest.mark.parametrize("frame", HOSTILE.values(), ids=HOSTILE)
def test_hostile_bytes_are_a_protocol_error(frame):
    with pytest.raises(ProtocolError):
        unpack(frame)


def test_the_control_cases_beside_the_hostile_ones_are_read():
    assert torch.equal(unpack(message({"tensor": 0}, {"0": tensor()}, bytes(8))), torch.zeros(2))
    assert unpack(message({"dict": {"a": 1}})) == {"a": 1} and unpack(message("-12")) == -12


@settings(max_examples=300)
@given(st.binary(max_size=300))
def test_random_bytes_never_raise_anything_else(data):
    for frame in (data, frame_of(data), message(data.decode("latin-1"))):
        try:
            unpack(frame)
        except ProtocolError as error:
            assert str(error)


@settings(max_examples=300)
@given(st.data())
def test_a_good_frame_with_a_few_bytes_changed_never_raises_anything_else(data):
    good = bytearray(
        pack(
            {
                "value": (torch.ones(2, 3), [1.5, "text"], {"k": np.arange(3)}),
                "args": [(True, None)],
            }
        )[8:]
    )
    for _ in range(data.draw(st.integers(1, 4))):
        good[data.draw(st.integers(0, len(good) - 1))] = data.draw(st.integers(0, 255))
    try:
        assert type(unpack(good)) in (
            dict,
            list,
            tuple,
            str,
            int,
            float,
            bool,
            type(None),
            torch.Tensor,
            np.ndarray,
        )
    except ProtocolError as error:
        assert str(error)


@pytest.mark.parametrize(
    "text",
    ["[" + "[]," * (MAX_MESSAGE // 20) + "[]]", '["' + "x" * (MAX_MESSAGE // 10) + '"]'],
    ids=["lists", "text"],
)
def test_memory_is_bounded_by_the_bytes_that_came(text):
    frame = message(text)
    tracemalloc.start()
    unpack(frame)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 50 * len(frame)


def test_a_message_beyond_the_limit_is_not_parsed():
    with pytest.raises(ProtocolError, match="at most"):
        unpack(message('"' + "x" * MAX_MESSAGE + '"'))
    with pytest.raises(Unsendable, match="bytes of text"):
        pack("x" * MAX_MESSAGE)
