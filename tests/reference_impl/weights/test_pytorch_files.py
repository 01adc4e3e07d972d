"""PyTorch's own files: read as tensors; never run, never inflated."""

import collections
import io
import json
import os
import pickle
import zipfile

import pytest
import torch

from reference_impl.weights import pytorch_files
from reference_impl.weights.pytorch_files import INDEX, SINGLE, read_file, read_weights
from reference_impl.weights.shards import WeightsError

TENSORS = {
    "a": torch.arange(6.0).view(2, 3),
    "b.weight": torch.ones(4, dtype=torch.bfloat16),
    "c": torch.tensor([1, 2]),
    "turned": torch.arange(6.0).view(2, 3).T,
    "none": torch.zeros(0, 3),
    "yes": torch.tensor([True, False]),
}


def same(one, other):
    return one.keys() == other.keys() and all(
        torch.equal(tensor, other[name]) and tensor.dtype == other[name].dtype
        for name, tensor in one.items()
    )


@pytest.mark.parametrize(
    "content",
    [
        TENSORS,
        collections.OrderedDict(TENSORS),
        {
            name: torch.nn.Parameter(tensor) if tensor.is_floating_point() else tensor
            for name, tensor in TENSORS.items()
        },
    ],
)
def test_what_torch_saves_is_read(tmp_path, content):
    torch.save(content, tmp_path / SINGLE)
    assert same(read_weights(tmp_path), TENSORS)


def test_tied_tensors_share_their_memory_after_reading(tmp_path):
    torch.save({"one": TENSORS["a"], "two": TENSORS["a"]}, tmp_path / SINGLE)
    read = read_weights(tmp_path)
    assert (
        torch.equal(read["one"], TENSORS["a"]) and read["one"].data_ptr() == read["two"].data_ptr()
    )


def test_shards_are_joined_by_their_index(tmp_path):
    names = list(TENSORS)
    shard_of = {name: f"pytorch_model-{1 + (i > 2)}.bin" for i, name in enumerate(names)}
    for shard in set(shard_of.values()):
        torch.save(
            {name: TENSORS[name] for name in names if shard_of[name] == shard}, tmp_path / shard
        )
    (tmp_path / INDEX).write_text(json.dumps({"weight_map": shard_of}))
    assert same(read_weights(tmp_path), TENSORS)
    torch.save(TENSORS, tmp_path / "pytorch_model-2.bin")
    with pytest.raises(WeightsError, match="'a' is in pytorch_model-2.bin and in another shard"):
        read_weights(tmp_path)
    (tmp_path / INDEX).write_text('{"weight_map": {"a": "../x.bin"}}')
    with pytest.raises(WeightsError, match="a file beside the index is expected"):
        read_weights(tmp_path)


class Runs:
    """What a malicious file holds: unpickling it calls a function."""

    def __init__(self, function, *arguments):
        self.function, self.arguments = function, arguments

    def __reduce__(self):
        return self.function, self.arguments


def saved(content, **options):
    stream = io.BytesIO()
    torch.save(content, stream, **options)
    return stream.getvalue()


@pytest.mark.parametrize(
    "wrap", [lambda evil: evil, lambda evil: {"a": torch.ones(2), "b": evil}, lambda evil: [[evil]]]
)
@pytest.mark.parametrize(
    "function, arguments, name",
    [
        (os.system, ("touch {}",), "posix.system|nt.system"),
        (eval, ("open('{}', 'w')",), "eval"),
        (open, ("{}", "w"), "io.open"),
        (bytearray, (2**45,), "bytearray"),
        (torch.load, ("{}",), "torch"),
    ],
)
def test_a_file_that_calls_something_is_refused_and_nothing_is_called(
    tmp_path, wrap, function, arguments, name
):
    trace = tmp_path / "ran"
    evil = Runs(function, *(a.format(trace) if isinstance(a, str) else a for a in arguments))
    (tmp_path / SINGLE).write_bytes(saved(wrap(evil)))
    with pytest.raises(WeightsError, match=f"asks to call .*({name})"):
        read_weights(tmp_path)
    assert not trace.exists()


@pytest.mark.parametrize(
    "function, arguments", [(os.system, "touch {}"), (eval, "open('{}', 'w')")]
)
def test_what_the_first_look_would_let_pass_torchs_own_unpickler_refuses_to_call(
    tmp_path, monkeypatch, function, arguments
):
    monkeypatch.setattr(pytorch_files, "_check_archive", lambda path: None)
    (tmp_path / SINGLE).write_bytes(
        saved({"a": Runs(function, arguments.format(tmp_path / "ran"))})
    )
    with pytest.raises(WeightsError, match="is damaged or not a PyTorch file"):
        read_weights(tmp_path)
    assert not (tmp_path / "ran").exists()


def test_a_bare_pickle_and_an_old_file_are_refused_unread(tmp_path):
    for content in (
        pickle.dumps(Runs(os.system, f"touch {tmp_path / 'ran'}")),
        saved(TENSORS, _use_new_zipfile_serialization=False),
    ):
        (tmp_path / SINGLE).write_bytes(content)
        with pytest.raises(WeightsError, match="from before PyTorch 1.6"):
            read_weights(tmp_path)
    assert not (tmp_path / "ran").exists()


def repacked(content, change=lambda name, data: data, **options):
    """The same archive written anew, with other parts or compressed."""
    stream = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(content)) as old,
        zipfile.ZipFile(stream, "w", **options) as new,
    ):
        for name in old.namelist():
            new.writestr(name, change(name, old.read(name)))
    return stream.getvalue()


@pytest.mark.parametrize(
    "program, says",
    [
        (pickle.dumps(Runs(os.system, "touch ran"), protocol=4), "something by STACK_GLOBAL"),
        (b"(S'touch ran'\nios\nsystem\n.", "os.system"),
        (b"(ccollections\nOrderedDict\no.", "something by OBJ"),
        (b"\x80\x02\x82\x01.", "1"),
    ],
    ids=["STACK_GLOBAL", "INST", "OBJ", "EXT1"],
)
def test_a_pickle_that_finds_what_it_calls_by_another_instruction_is_refused(
    tmp_path, monkeypatch, program, says
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / SINGLE).write_bytes(
        repacked(saved(TENSORS), lambda name, data: program if name.endswith("/data.pkl") else data)
    )
    with pytest.raises(WeightsError, match=f"asks to call {says}, which no tensor needs"):
        read_weights(tmp_path)
    assert not (tmp_path / "ran").exists()


def test_a_zip_bomb_is_refused_by_its_table(tmp_path):
    bomb = repacked(saved({"a": torch.zeros(1_000_000)}), compression=zipfile.ZIP_DEFLATED)
    assert len(bomb) < 10_000
    (tmp_path / SINGLE).write_bytes(bomb)
    with pytest.raises(WeightsError, match="is a compressed zip archive"):
        read_weights(tmp_path)


@pytest.mark.parametrize("name", ["archive/constants.pkl", "archive/data.pkl", "ARCHIVE/DATA.PKL"])
@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_second_pickle_that_torch_might_take_for_the_first_is_refused(tmp_path, name):
    stream = io.BytesIO(saved(TENSORS))
    with zipfile.ZipFile(stream, "a") as archive:
        archive.writestr(name, b"x")
    (tmp_path / SINGLE).write_bytes(stream.getvalue())
    with pytest.raises(WeightsError, match="one data.pkl is expected"):
        read_weights(tmp_path)


def test_a_stride_of_zero_claims_no_memory(tmp_path):
    torch.save({"a": torch.zeros(1).expand(2**40, 2**20)}, tmp_path / SINGLE)
    with pytest.raises(WeightsError, match=r"'a' has shape \(1099511627776, 1048576\)"):
        read_weights(tmp_path)


@pytest.mark.parametrize(
    "content, says",
    [
        ([torch.ones(1)], "holds a list: a dictionary of tensors"),
        ({"model": {"a": torch.ones(1)}}, "holds 'model', a dict"),
        ({"step": 3}, "holds 'step', a int"),
        ({3: torch.ones(1)}, "holds 3, a Tensor"),
    ],
)
def test_what_is_no_dictionary_of_tensors_is_named(tmp_path, content, says):
    torch.save(content, tmp_path / SINGLE)
    with pytest.raises(WeightsError, match=says):
        read_weights(tmp_path)


def test_no_file_and_an_empty_folder_are_named(tmp_path):
    with pytest.raises(WeightsError, match="holds neither pytorch_model.bin"):
        read_weights(tmp_path)
    with pytest.raises(WeightsError, match="none.bin does not exist"):
        read_file(tmp_path / "none.bin")
