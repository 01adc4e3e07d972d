"""Slices of a model in threads, whose sums are plain additions: together they say what the whole
model says.
"""

import copy
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch

from reference_impl.layers.checks import ModelInputError
from reference_impl.layers.tensor_parallel import RowParallelLinear, Shard, split
from reference_impl.models.gpt import GPT, GPTConfig
from reference_impl.models.llama import Llama, LlamaConfig

SIZE = {"vocab_size": 61, "hidden_size": 24, "num_layers": 2, "max_position_embeddings": 32}
LLAMA = {**SIZE, "num_heads": 4, "num_kv_heads": 2, "intermediate_size": 20}
MODELS = {
    "GPT-2": (GPT, GPTConfig(**SIZE, num_heads=4)),
    "LLaMA": (Llama, LlamaConfig(**LLAMA)),
    "Mistral": (Llama, LlamaConfig(**LLAMA, sliding_window=3, head_dim=10)),
    "Qwen2": (Llama, LlamaConfig(**LLAMA, qkv_bias=True, tie_word_embeddings=True)),
    "Qwen3": (Llama, LlamaConfig(**LLAMA, qk_norm=True, head_dim=8)),
}


class Threads:
    """Adds tensors of `size` threads up, as all-reduce does."""

    def __init__(self, size):
        self.size, self.parts, self.num_sums = size, {}, 0
        self.barrier = threading.Barrier(size, timeout=60)

    def shard(self, rank):
        def add_up(x):
            self.parts[rank] = x.clone()
            self.barrier.wait()
            x.copy_(sum(self.parts[each] for each in range(self.size)))
            self.num_sums += rank == 0
            self.barrier.wait()

        return Shard(rank, self.size, add_up)

    def run(self, models, ids):
        with ThreadPoolExecutor(self.size) as pool, torch.no_grad():
            return list(pool.map(lambda model: model(ids), models))


@pytest.fixture(params=MODELS)
def whole(request):
    family, config = MODELS[request.param]
    model = family(config).eval()
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for (
            parameter
        ) in model.parameters():  # biases and norms too, so that one that is added twice is seen
            parameter.copy_(torch.randn(parameter.shape, generator=generator) * 0.4)
    return model


def slices(whole, threads):
    models = [copy.deepcopy(whole) for _ in range(threads.size)]
    for rank, model in enumerate(models):
        split(model, threads.shard(rank))
    return models


IDS = torch.tensor([[5, 9, 2, 60, 33, 7, 7, 1]])


def test_two_slices_say_what_the_whole_says_with_two_sums_a_block(whole):
    threads = Threads(2)
    models = slices(whole, threads)
    with torch.no_grad():
        expected = whole(IDS)
    for logits in threads.run(models, IDS):
        torch.testing.assert_close(
            logits, expected, rtol=0, atol=2e-5 * float(expected.abs().max())
        )
    assert threads.num_sums == 2 * len(whole.blocks)


def test_each_slice_holds_its_share_of_the_blocks(whole):
    [first, second] = slices(whole, Threads(2))
    of_blocks = [
        {name: p.numel() for name, p in model.blocks.named_parameters() if p.dim() == 2}
        for model in (whole, first, second)
    ]
    assert of_blocks[1] == of_blocks[2]
    assert 2 * sum(of_blocks[1].values()) == sum(of_blocks[0].values())
    assert all(
        p.untyped_storage().nbytes() == p.nbytes for p in first.blocks.parameters()
    )  # no view of the whole


def without_sums(models):
    for model in models:
        for module in model.modules():
            if isinstance(module, RowParallelLinear):
                module.shard = Shard(module.shard.rank, 2, lambda x: None)


def swapped_heads(models):
    for model in models:
        module = model.blocks[0].attention.output
        module.weight.data = module.weight.data.flip(1)


@pytest.mark.parametrize("spoil", [without_sums, swapped_heads])
def test_a_wrong_split_is_seen(whole, spoil):
    threads = Threads(2)
    models = slices(whole, threads)
    spoil(models)
    with torch.no_grad():
        expected = whole(IDS)
    assert not torch.allclose(threads.run(models, IDS)[0], expected, rtol=0, atol=1e-2)


@pytest.mark.parametrize(
    ("name", "size", "says"),
    [
        ("LLaMA", 3, "num_heads is 4: it can't be cut into 3"),
        ("LLaMA", 4, "num_kv_heads is 2"),
        ("GPT-2", 8, "num_heads is 4"),
    ],
)
def test_what_can_not_be_cut_evenly_is_refused(name, size, says):
    family, config = MODELS[name]
    with pytest.raises(ModelInputError, match=says):
        split(family(config), Shard(0, size, lambda x: None))
