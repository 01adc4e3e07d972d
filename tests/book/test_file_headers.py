"""Headers as the figure shows them, against files written by the safetensors library and by the
`gguf` package.
"""

import gguf
import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from course.book.pages.figure_data.file_headers import gguf_file, safetensors_file


def test_places_of_a_safetensors_file_hold_the_tensors(tmp_path):
    tensors = {"b": torch.arange(6.0).view(2, 3), "a": torch.tensor([1.0, 2.0, -0.5, 4.0]).half()}
    save_file(tensors, tmp_path / "x.safetensors", metadata={"format": "pt"})
    found = safetensors_file(
        "one", tmp_path / "x.safetensors", ["a", "b"], lambda name: f"ours.{name}"
    )
    content = (tmp_path / "x.safetensors").read_bytes()
    assert (found["bytes"], found["count"]) == (len(content), 2)
    assert found["header"] == min(tensor["start"] for tensor in found["tensors"])
    for tensor in found["tensors"]:
        assert content[tensor["start"] : tensor["end"]] == tensors[tensor["name"]].numpy().tobytes()
        assert tensor["ours"] == f"ours.{tensor['name']}" and tensor["entry"].startswith(
            f'"{tensor["name"]}": {{"dtype"'
        )
    half = next(tensor for tensor in found["tensors"] if tensor["name"] == "a")
    assert [(one["bytes"], one["value"]) for one in half["first"]] == [
        ("00 3c", "1"),
        ("00 40", "2"),
        ("00 b8", "-0.5"),
        ("00 44", "4"),
    ]


@pytest.fixture
def written(tmp_path):
    """A file with a tensor of each kind, and the tensors' bytes."""
    x = np.random.default_rng(0).standard_normal((2, 64)).astype(np.float32)
    tensors = {
        "plain": x,
        **{
            kind.name: gguf.quants.quantize(x, kind)
            for kind in (gguf.GGMLQuantizationType.Q4_1, gguf.GGMLQuantizationType.Q8_0)
        },
    }
    writer = gguf.GGUFWriter(tmp_path / "x.gguf", "llama")
    for name, tensor in tensors.items():
        writer.add_tensor(
            name, tensor, raw_dtype=None if name == "plain" else gguf.GGMLQuantizationType[name]
        )
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return tmp_path / "x.gguf", x, tensors


def test_places_and_first_blocks_of_a_gguf_are_those_of_the_gguf_package(written):
    path, _, tensors = written
    content, found = path.read_bytes(), gguf_file("G", path, list(tensors), str)
    assert found["count"] == 3 and [tensor["start"] for tensor in found["tensors"]] == sorted(
        tensor["start"] for tensor in found["tensors"]
    )
    for tensor in found["tensors"]:
        assert content[tensor["start"] : tensor["end"]] == tensors[tensor["name"]].tobytes()
        assert tensor["shape"] == [2, 64] and "sizes, fastest first: 64, 2\n" in tensor["entry"]
        first = bytes.fromhex("".join(one["bytes"] for one in tensor["first"]))
        assert content[tensor["start"] :].startswith(first)


@pytest.mark.parametrize("name", ["Q4_1", "Q8_0"])
def test_what_a_byte_says_is_what_the_gguf_package_reads(written, name):
    path, _, tensors = written
    numbers = gguf.quants.dequantize(tensors[name], gguf.GGMLQuantizationType[name]).reshape(-1)
    first = gguf_file("G", path, [name], str)["tensors"][0]["first"]
    asked = [one for one in first if one["label"].startswith("q")]
    assert len(asked) == 3
    for one in asked:
        places = [int(part.removeprefix("q ")) for part in one["label"].split(" and ")]
        values = [float(part.split(": ")[1]) for part in one["value"].split(", ")]
        assert values == pytest.approx(numbers[places].tolist(), rel=0.01)
