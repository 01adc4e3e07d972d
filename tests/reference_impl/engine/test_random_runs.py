"""Engines with random limits serve random requests: each gets what it gets alone, and every block
comes back.
"""

import json
import random
from dataclasses import dataclass

import pytest
import torch
from safetensors.torch import save_file

from reference_impl.engine.adapters import CONFIG, WEIGHTS
from reference_impl.engine.engine import Engine, EngineConfig
from reference_impl.engine.scheduler import SchedulerConfig
from reference_impl.engine.speculative import NgramProposer
from reference_impl.generation.sampling_params import SamplingParams
from reference_impl.models.deepseek import Deepseek, DeepseekConfig
from reference_impl.models.gpt import GPT, GPTConfig
from reference_impl.models.gpt_oss import GptOss, GptOssConfig
from reference_impl.models.llama import Llama, LlamaConfig

SIZES = {
    "vocab_size": 23,
    "hidden_size": 8,
    "num_layers": 1,
    "num_heads": 2,
    "intermediate_size": 12,
    "max_position_embeddings": 64,
}
LATENT = {
    "query_rank": 3,
    "rank": 5,
    "rotary_dim": 4,
    "plain_dim": 3,
    "value_dim": 6,
    "num_layers": 2,
    "num_dense_layers": 1,
    "num_experts": 4,
    "experts_per_token": 2,
    "expert_size": 6,
    "num_groups": 2,
    "kept_groups": 1,
}
SINKS = {
    "num_layers": 2,
    "num_kv_heads": 1,
    "head_dim": 4,
    "window": 5,
    "expert_size": 6,
    "num_experts": 3,
    "experts_per_token": 2,
    "rope_yarn": (4.0, 1.0, 8.0, 16),
}
OF_GPT_OSS = {name: size for name, size in SIZES.items() if name != "intermediate_size"}
FAMILIES = {
    "gpt": lambda: GPT(GPTConfig(**SIZES)),
    "llama": lambda: Llama(LlamaConfig(**SIZES, num_kv_heads=1)),
    "window": lambda: Llama(LlamaConfig(**SIZES, sliding_window=5)),
    "latent": lambda: Deepseek(DeepseekConfig(**SIZES | LATENT)),
    "sinks": lambda: GptOss(GptOssConfig(**OF_GPT_OSS | SINKS)),
}
LAYERS = {
    "gpt": ["blocks.0.attention.qkv", "blocks.0.feed_forward.down"],
    "llama": ["blocks.0.attention.query", "output"],
    "window": ["blocks.0.feed_forward.up"],
    "latent": ["blocks.0.attention.down", "blocks.1.feed_forward.shared.up"],
    "sinks": ["blocks.0.attention.query", "blocks.1.attention.output"],
}
ADAPTERS = ["one", "other"]


@dataclass
class Request:
    """What is asked for, when it comes, and when it goes (in steps)."""

    prompt: list[int]
    params: SamplingParams
    adapter: str | None
    priority: int
    salt: bytes
    comes: int
    goes: int | None


@pytest.fixture(scope="module")
def families(tmp_path_factory):
    """Each family's model with two adapters in folders."""
    found, generator = {}, torch.Generator().manual_seed(0)

    def randn(*shape):
        return torch.randn(shape, generator=generator) * 0.5

    for name, make in FAMILIES.items():
        model = make().double().eval()  # so that the size of a batch turns no token over
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.copy_(randn(*parameter.shape))
        folders = {}
        for adapter in ADAPTERS:
            folder = folders[adapter] = tmp_path_factory.mktemp(f"{name}-{adapter}")
            weights = {}
            for layer in LAYERS[name]:
                module, theirs = model.get_submodule(layer), model.names.module_to_theirs(layer)
                weights[f"base_model.model.{theirs}.lora_A.weight"] = randn(2, module.in_features)
                weights[f"base_model.model.{theirs}.lora_B.weight"] = randn(module.out_features, 2)
            save_file(weights, folder / WEIGHTS)
            (folder / CONFIG).write_text(json.dumps({"peft_type": "LORA", "r": 2, "lora_alpha": 4}))
        found[name] = Engine(
            model, EngineConfig(scheduler=SchedulerConfig(max_model_len=64)), adapters=folders
        )
    return found


def draw_request(draw, guesses):
    greedy = (
        guesses or draw.random() < 0.5
    )  # sampled guesses keep the distribution and not the tokens
    beginning = [1, 2, 3, 4, 5, 6, 7, 8, 9][: draw.randrange(10)]  # shared by many
    params = SamplingParams(
        temperature=0 if greedy else 0.9,
        seed=draw.randrange(100),
        n=draw.choice((1, 1, 2)),
        max_tokens=draw.randint(1, 12),
        stop_token_ids=tuple(draw.sample(range(23), 2)),
        repetition_penalty=draw.choice((1.0, 1.2)),
    )
    return Request(
        [*beginning, *(draw.randrange(23) for _ in range(draw.randint(1, 8)))],
        params,
        draw.choice((None, *ADAPTERS)),
        draw.randint(-1, 1),
        draw.choice((b"", b"mine")),
        draw.randrange(5),
        draw.randrange(15) if draw.random() < 0.2 else None,
    )


def draw_engine(draw, families, guesses):
    alone = families[draw.choice(list(families))]
    size, num_seqs = draw.choice((1, 2, 3, 4, 16)), draw.randint(2, 5)
    limits = SchedulerConfig(
        num_seqs,
        num_seqs + draw.choice((0, 1, 5, 40)),
        32,
        draw.choice((0, 0, 4, 12)),
        draw.choice((3, 200)),
    )
    blocks = -(-29 // size) + draw.choice((0, 0, 2, 40))  # one request fits, and not much more
    engine = Engine(
        alone.runner.model,
        EngineConfig(
            blocks,
            size,
            draw.random() < 0.7,
            num_speculative_tokens=3 * guesses,
            scheduler=limits,
            async_scheduling=draw.random() < 0.5,
            prefix_index=draw.choice(("hash_chain", "radix_tree")),
        ),
        proposer=NgramProposer() if guesses else None,
    )
    engine.adapters = engine.runner.adapters = alone.adapters  # the layers of both are the same
    return alone, engine


def tokens_of(outputs, said):
    for output in outputs:
        said.setdefault((output.request_id, output.index), []).extend(
            token.id for token in output.tokens
        )


def serve(engine, requests):
    """Tokens of each continuation, with requests that come and go at their steps."""
    said, step = {}, 0
    while engine.has_work or any(request.comes >= step for request in requests):
        for name, request in enumerate(requests):
            if request.comes == step:
                engine.add_request(
                    request.prompt,
                    request.params,
                    str(name),
                    request.priority,
                    request.salt,
                    request.adapter,
                )
            if request.goes == step:
                engine.abort(str(name))
        tokens_of(engine.step(), said)
        engine.scheduler.check()
        step += 1
        assert step < 2000, "somebody waits for ever"
    return said


def run(seed, families):
    draw = random.Random(seed)
    guesses = draw.random() < 0.3
    alone, engine = draw_engine(draw, families, guesses)
    requests = [draw_request(draw, guesses) for _ in range(draw.randint(3, 8))]
    said = serve(engine, requests)
    for name, request in enumerate(requests):
        expected = alone.generate([request.prompt], request.params, request.adapter)[0]
        for index, completion in enumerate(expected):
            got = said.get((str(name), index), [])
            assert got == (
                completion.ids if request.goes is None else completion.ids[: len(got)]
            ), (seed, name, index)
    assert engine.blocks.num_free_blocks == engine.blocks.num_blocks, seed
    kept = (
        engine._stopping,
        engine._left,
        engine._drafts,
        engine.sampling._draws,
        engine.sampling._generators,
    )
    assert not any(kept), (seed, kept)
    return engine


def test_twelve_random_runs(families):
    engines = [run(seed, families) for seed in range(12)]
    assert any(engine.num_preemptions for engine in engines), (
        "nobody was preempted: the runs are too easy"
    )
    assert any(engine.num_overlapped_steps for engine in engines) and any(
        engine.num_accepted for engine in engines
    )


@pytest.mark.long
def test_two_hundred_random_runs(families):
    assert sum(run(seed, families).num_preemptions for seed in range(12, 212)) > 50
