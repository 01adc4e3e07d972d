"""All readers of weights on files that are cut, changed and lie: WeightsError or the tensors, and
no memory taken.
"""

import io
import json
import struct
import subprocess
import sys
import zipfile

import gguf
import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from safetensors.torch import save

from reference_impl.weights import pytorch_files, safetensors_files
from reference_impl.weights.gguf_files import read_gguf
from reference_impl.weights.shards import WeightsError
from tests.reference_impl.weights.conftest import gguf_bytes, text

TENSORS = {
    "a": torch.arange(6.0).view(2, 3),
    "b.weight": torch.ones(4, dtype=torch.bfloat16),
    "c": torch.tensor([1, 2]),
}
EXTREMES = [0, 1, 2**31 - 1, 2**31, 2**32 - 1, 2**60, 2**63 - 1, 2**63, 2**64 - 8, 2**64 - 1]


def read_all_gguf(path):
    file = read_gguf(path)
    return {name: file.tensor(name) for name in file.places}


def made_gguf():
    """A small file with values of several kinds and a tensor of each type."""
    numbers = np.linspace(-1, 1, 64, dtype=np.float32)
    content, tensors = b"", []
    for type_ in (0, 1, 2, 3, 8):
        block = gguf.quants.quantize(numbers, gguf.GGMLQuantizationType(type_)).tobytes()
        tensors.append((f"t{type_}", [32, 2], type_, len(content)))
        content += block + b"\0" * (-len(block) % 32)
    values = [
        ("general.architecture", 8, text("llama")),
        ("n", 4, struct.pack("<I", 7)),
        ("texts", 9, struct.pack("<IQ", 8, 2) + text("ab") + text("ü")),
        ("numbers", 9, struct.pack("<IQ3i", 5, 3, 1, 2, 3)),
    ]
    return gguf_bytes(values, tensors, content=content)


def made_pytorch():
    stream = io.BytesIO()
    torch.save(TENSORS, stream)
    return stream.getvalue()


FORMATS = {
    "gguf": (made_gguf(), read_all_gguf),
    "safetensors": (save(TENSORS), safetensors_files.read_file),
    "pytorch": (made_pytorch(), pytorch_files.read_file),
}


def outcome(read, path, content):
    """What reading gives: the tensors or None.

    Another exception than WeightsError goes through and fails the test.
    """
    path.write_bytes(content)
    try:
        return read(path)
    except WeightsError as error:
        assert str(path) in str(error)
        return None


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return tmp_path_factory.mktemp("damaged") / "weights"


@pytest.mark.parametrize("kind", FORMATS)
def test_the_undamaged_file_is_read(kind, path):
    content, read = FORMATS[kind]
    assert len(outcome(read, path, content)) == (5 if kind == "gguf" else 3)


@pytest.mark.parametrize("kind", FORMATS)
def test_a_file_cut_anywhere_is_refused(kind, path):
    content, read = FORMATS[kind]
    # The last bytes of a GGUF file may be what fills up to the alignment, which no tensor needs.
    whole = len(content) - 31 if kind == "gguf" else len(content)
    cuts = {*range(0, min(400, whole)), *range(0, whole, 53), *range(whole - 60, whole)}
    assert [cut for cut in sorted(cuts) if outcome(read, path, content[:cut]) is not None] == []


@pytest.mark.parametrize("kind", FORMATS)
@settings(
    max_examples=250,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(data=st.data())
def test_a_changed_file_is_read_or_refused_and_nothing_else_happens(kind, path, data):
    content, read = FORMATS[kind]
    changed = bytearray(content)
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(content) - 1))
        width = data.draw(st.sampled_from([1, 2, 4, 8]))
        value = data.draw(st.sampled_from(EXTREMES) | st.integers(0, 2**64 - 1)) % 2 ** (8 * width)
        changed[place : place + width] = value.to_bytes(width, "little")
    read_back = outcome(read, path, bytes(changed))
    assert read_back is None or all(
        tensor.nbytes <= 8 * len(content) for tensor in read_back.values()
    )


@pytest.mark.parametrize("kind", FORMATS)
@settings(
    max_examples=100,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(junk=st.binary(max_size=200), keep=st.integers(0, 16))
def test_junk_after_a_right_beginning_is_refused(kind, path, junk, keep):
    content, read = FORMATS[kind]
    assert not outcome(read, path, content[:keep] + junk)


def safetensors_bytes(header, data=b"", length=None):
    text_ = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text_) if length is None else length) + text_ + data


F32 = {"dtype": "F32"}


@pytest.mark.parametrize(
    "content",
    [
        safetensors_bytes(
            {
                "a": F32 | {"shape": [2], "data_offsets": [0, 8]},
                "b": F32 | {"shape": [2], "data_offsets": [4, 12]},
            },
            b"\0" * 12,
        ),
        safetensors_bytes({"a": F32 | {"shape": [2**60], "data_offsets": [0, 8]}}, b"\0" * 8),
        safetensors_bytes({"a": F32 | {"shape": [2**62, 4], "data_offsets": [0, 0]}}),
        safetensors_bytes({"a": F32 | {"shape": [-2], "data_offsets": [0, 8]}}, b"\0" * 8),
        safetensors_bytes({"a": F32 | {"shape": [2], "data_offsets": [8, 0]}}, b"\0" * 8),
        safetensors_bytes(
            {"a": F32 | {"shape": [2], "data_offsets": [2**63, 2**63 + 8]}}, b"\0" * 8
        ),
        safetensors_bytes({"a": F32 | {"shape": [1] * 10_000, "data_offsets": [0, 4]}}, b"\0" * 4),
        safetensors_bytes({"a": F32 | {"shape": [1], "data_offsets": [0, 4]}}, b"\0" * 400),
        safetensors_bytes(b"[" * 100_000),
        safetensors_bytes(b'{"a": ' * 100_000),
        safetensors_bytes(b"{}", length=2**63),
        safetensors_bytes(b'"\xff\xfe"'),
        safetensors_bytes([]),
        safetensors_bytes({"a": 3}),
        safetensors_bytes({"a": {"dtype": "C64", "shape": [1], "data_offsets": [0, 7]}}, b"\0" * 7),
        safetensors_bytes(
            b'{"a": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}, '
            b'"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}}',
            b"\0" * 8,
        ),
    ],
    ids=[
        "overlap",
        "huge shape",
        "overflow",
        "negative",
        "backwards",
        "past the end",
        "many dimensions",
        "unused bytes",
        "deep list",
        "deep object",
        "huge header",
        "no UTF-8",
        "a list",
        "a number for a tensor",
        "a type cut",
        "a name twice",
    ],
)
def test_a_lying_safetensors_header_is_refused(path, content):
    assert outcome(safetensors_files.read_file, path, content) is None


LIES = {
    "gguf": [
        gguf_bytes(num_values=2**60),
        gguf_bytes(num_tensors=2**60),
        *(
            gguf_bytes([("a", 9, struct.pack("<IQ", inner, length))])
            for inner in (0, 4, 8, 9, 12)
            for length in (2**32, 2**60, 2**64 - 1)
        ),
        *(
            gguf_bytes(tensors=[("t", sizes, type_, 0)], content=b"\0" * 64)
            for type_ in (0, 2, 8)
            for sizes in ([2**40], [2**60, 2**60], [2**32] * 4)
        ),
        gguf_bytes([("a", 8, struct.pack("<Q", 2**34))]),
    ],
    "safetensors": [
        safetensors_bytes({"a": F32 | {"shape": [2**34], "data_offsets": [0, 2**36]}}, b"\0" * 8),
        safetensors_bytes(b"{}", length=2**34),
        safetensors_bytes(b"{}", length=99_000_000),
    ],
}


def test_lies_about_sizes_take_no_memory(tmp_path):
    """In a process that may take 300 MB more than it has: an attempt at a lie's gigabytes would be
    an error there.
    """
    bomb = io.BytesIO()
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("archive/data.pkl", b"\0" * 400_000_000)
    files = [(kind, content) for kind, contents in LIES.items() for content in contents]
    files += [
        ("pytorch", bomb.getvalue()),
        ("pytorch", made_pytorch().replace(b"K\x06", b"J\xff\xff\xff\x7f")),
    ]
    for number, (kind, content) in enumerate(files):
        (tmp_path / f"{number}.{kind}").write_bytes(content)
    program = f"""
import resource, sys
from pathlib import Path
from reference_impl.weights import gguf_files, pytorch_files, safetensors_files
from reference_impl.weights.shards import WeightsError
read = {{".gguf": gguf_files.read_gguf, ".safetensors": safetensors_files.read_file,
        ".pytorch": pytorch_files.read_file}}
now = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (now + 300_000_000,) * 2)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
files = sorted(Path({str(tmp_path)!r}).iterdir())
for path in files:
    try:
        read[path.suffix](path)
        print("read", path.name)
    except WeightsError as error:
        if any(word in str(error)
               for word in ("MemoryError", "alloc", "not enough memory", "std::bad")):
            print("took memory", path.name, error)
print(len(files), "files")
grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
print("grown" if grown > 50_000 else "as before")
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == f"{len(files)} files\nas before\n", done.stdout + done.stderr[-2000:]
