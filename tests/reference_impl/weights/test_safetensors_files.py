"""Folders of weights: single, sharded, damaged."""

import json
import struct

import pytest
import torch

from reference_impl.weights.safetensors_files import (
    INDEX,
    SINGLE,
    WeightsError,
    read_json,
    read_weights,
    write_weights,
)

TENSORS = {
    "a": torch.arange(6.0).view(2, 3),
    "b.weight": torch.ones(4, dtype=torch.bfloat16),
    "c": torch.tensor([1, 2]),
    "d": torch.zeros(0, 3),
}


def same(one, other):
    return one.keys() == other.keys() and all(
        torch.equal(tensor, other[name]) and tensor.dtype == other[name].dtype
        for name, tensor in one.items()
    )


@pytest.mark.parametrize("max_bytes, num_files", [(1000, 1), (24, 2), (1, 4)])
def test_what_is_written_is_read(tmp_path, max_bytes, num_files):
    write_weights(tmp_path, TENSORS, max_bytes)
    assert len(list(tmp_path.glob("*.safetensors"))) == num_files
    assert same(read_weights(tmp_path), TENSORS)


def test_tensors_that_share_memory_or_are_transposed_are_written_as_they_read(tmp_path):
    matrix = torch.arange(6.0).view(2, 3)
    write_weights(tmp_path, {"one": matrix, "same": matrix, "turned": matrix.T})
    assert same(read_weights(tmp_path), {"one": matrix, "same": matrix, "turned": matrix.T})


def test_what_lay_in_the_folder_before_is_not_read(tmp_path):
    old, new = {"a": torch.zeros(4), "b": torch.zeros(4)}, {"a": torch.ones(4), "b": torch.ones(4)}
    for first, second in ((10**6, 16), (16, 10**6)):
        write_weights(tmp_path, old, first)
        write_weights(tmp_path, new, second)
        same(read_weights(tmp_path), new)


def test_our_shards_are_those_that_the_index_names(tmp_path):
    write_weights(tmp_path, TENSORS, 24)
    index = json.loads((tmp_path / INDEX).read_text())
    assert index["metadata"]["total_size"] == 6 * 4 + 4 * 2 + 2 * 8
    assert set(index["weight_map"].values()) == {
        f"model-0000{n}-of-00002.safetensors" for n in (1, 2)
    }


def damage(content, kind):
    """A file of weights with one thing wrong."""
    size = struct.unpack("<Q", content[:8])[0]
    header = json.loads(content[8 : 8 + size])
    if kind == "truncated":
        return content[:-3]
    if kind == "a pickle":
        return b"\x80\x02}q\x00."
    if kind == "empty":
        return b""
    if kind == "a huge header":
        return struct.pack("<Q", 2**62) + content[8:]
    if kind == "a header that is no JSON":
        return content[:8] + b"x" * size + content[8 + size :]
    if kind == "offsets past the end":
        header["a"]["data_offsets"][1] += 4096
    if kind == "a shape that lies":
        header["a"]["shape"] = [2**40, 2**20]
    if kind == "an unknown type":
        header["a"]["dtype"] = "F33"
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + content[8 + size :]


@pytest.mark.parametrize(
    "kind",
    [
        "truncated",
        "a pickle",
        "empty",
        "a huge header",
        "a header that is no JSON",
        "offsets past the end",
        "a shape that lies",
        "an unknown type",
    ],
)
def test_a_damaged_file_is_named(tmp_path, kind):
    write_weights(tmp_path, TENSORS)
    path = tmp_path / SINGLE
    path.write_bytes(damage(path.read_bytes(), kind))
    with pytest.raises(WeightsError, match=f"{SINGLE} is damaged or not a safetensors file"):
        read_weights(tmp_path)


def test_any_byte_of_the_header_may_be_wrong(tmp_path):
    write_weights(tmp_path, TENSORS)
    path = tmp_path / SINGLE
    content = path.read_bytes()
    size = struct.unpack("<Q", content[:8])[0]
    refused = 0
    for place in range(0, 8 + size, 3):
        path.write_bytes(content[:place] + bytes([content[place] ^ 0x15]) + content[place + 1 :])
        try:
            read_weights(tmp_path)
        except WeightsError:
            refused += 1
    assert refused > (8 + size) / 3 / 2  # a changed letter of a name is another name, and in order


@pytest.mark.parametrize(
    "index, says",
    [
        ("{", "is not JSON"),
        ("[]", "holds a list"),
        ("{}", "has no weight_map"),
        ('{"weight_map": {"a": 3}}', "has no weight_map"),
        ('{"weight_map": {"a": "../secret.safetensors"}}', "a file beside the index is expected"),
        ('{"weight_map": {"a": "/etc/passwd"}}', "a file beside the index is expected"),
        ('{"weight_map": {"a": "model-1.safetensors"}}', "model-1.safetensors does not exist"),
        (
            '{"weight_map": {"z": "shard.safetensors"}}',
            "promises 'z' in shard.safetensors, which does not hold it",
        ),
        ("[" * 100_000, "is not JSON"),
    ],
)
def test_a_wrong_index_is_named(tmp_path, index, says):
    write_weights(tmp_path, TENSORS)
    (tmp_path / SINGLE).rename(tmp_path / "shard.safetensors")
    (tmp_path / INDEX).write_text(index)
    with pytest.raises(WeightsError, match=says):
        read_weights(tmp_path)


def test_a_folder_without_weights_says_what_is_missing(tmp_path):
    with pytest.raises(WeightsError, match=f"holds neither {SINGLE} nor {INDEX}"):
        read_weights(tmp_path)
    with pytest.raises(WeightsError, match="config.json does not exist"):
        read_json(tmp_path / "config.json")
