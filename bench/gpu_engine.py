"""The engine on a GPU: 256 requests in the shape of Qwen3-0.6B, against the bandwidth bound and
against nano-vllm.

Prompts and answers have 100 to 1,024 tokens, evenly spread, as in nano-vllm's own bench; weights
are random, nothing ends early, and both engines sample at temperature 0.6. Each run has prompts of
its own, so that neither finds the last run's in its prefix cache; tokens a second are those of the
answers, over the time of everything.

The bound: every step must read the weights and each sequence's keys and values. There are at least
as many steps as the longest answer has tokens. At the rate at which a large tensor is copied that
takes a time below which no engine that keeps all keys and values in bfloat16 can come; prompts are
taken to cost nothing.

Not here: the CPU's rows (see `engine`), latency (see `serving`).
"""

import os
import random
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from bench import gpu_timing
from bench.gpu_record import attempt_name
from bench.gpu_timing import Bench, alone_row, error
from bench.record import compare
from reference_impl.engine.engine import Engine, EngineConfig
from reference_impl.engine.model_runner import Prepared
from reference_impl.engine.scheduler import SchedulerConfig
from reference_impl.generation.layout import join_projections
from reference_impl.generation.sampling_params import SamplingParams
from reference_impl.measure.cache_bytes import bytes_per_token, reserved_blocks
from reference_impl.models.llama import Llama, LlamaConfig

QWEN3 = LlamaConfig(
    vocab_size=151_936,
    hidden_size=1024,
    intermediate_size=3072,
    num_layers=28,
    num_heads=16,
    num_kv_heads=8,
    head_dim=128,
    max_position_embeddings=40_960,
    rope_theta=1e6,
    qk_norm=True,
    tie_word_embeddings=True,
)
NAME = "engine, 256 requests, Qwen3-0.6B shape"
RUNS, GRAPHS_RIGHT = 4, 1e-2
RIVALS = Path(os.environ.get("W2S_RIVALS", "/opt/rivals"))
Job = tuple[list[int], int]
"""A prompt, and how many tokens are to follow."""


def jobs(seed: int, count: int = 256, shortest: int = 100, longest: int = 1024) -> list[Job]:
    """Requests of one run."""
    draw = random.Random(seed)
    return [
        (
            [draw.randrange(10_000) for _ in range(draw.randint(shortest, longest))],
            draw.randint(shortest, longest),
        )
        for _ in range(count)
    ]


def bound_seconds(
    work: list[Job], config: LlamaConfig, weight_bytes: int, bandwidth: float
) -> float:
    """The least time of reading: the first token comes with the prompt, each other reads all before
    it.
    """
    read = sum((count - 1) * len(prompt) + count * (count - 1) // 2 for prompt, count in work)
    per_token = bytes_per_token(
        config.num_layers, config.num_kv_heads, config.head_dim, torch.bfloat16
    )
    return (max(count for _, count in work) * weight_bytes + read * per_token) / bandwidth


def engine_for(model: Llama, runs: list[list[Job]], cuda_graphs: bool) -> Engine:
    """With blocks for all requests of a run at once, and a twentieth more."""
    blocks = max(
        reserved_blocks([len(prompt) + count for prompt, count in work], 16) // 16 for work in runs
    )
    most = max(map(len, runs))
    limits = SchedulerConfig(
        max_num_seqs=most, max_num_batched_tokens=max(16_384, most), max_model_len=2048
    )
    return Engine(
        model,
        EngineConfig(
            blocks + blocks // 20 + 1, 16, trace_steps=1, cuda_graphs=cuda_graphs, scheduler=limits
        ),
    )


def serve(engine: Engine, work: list[Job]) -> int:
    """All requests at once, to their end; how many tokens were said."""
    for prompt, count in work:
        engine.add_request(
            prompt, SamplingParams(temperature=0.6, max_tokens=count, ignore_eos=True)
        )
    said = 0
    while engine.has_work:
        said += sum(len(output.tokens) for output in engine.step())
    return said


def graphs_error(engine: Engine, work: list[Job]) -> float:
    """The largest difference between logits by recorded steps and by plain ones, over the largest
    logit.
    """
    compute, graphs, errors = engine.runner.compute, engine.runner.graphs, []

    def both(prepared: Prepared) -> torch.Tensor:
        recorded = compute(prepared)
        engine.runner.graphs = None
        plain = compute(
            prepared
        )  # the same keys and values are written to the same slots once more
        engine.runner.graphs = graphs
        if len(plain):
            errors.append(error(recorded, plain.double()))
        return plain

    engine.runner.compute = both
    serve(engine, [(prompt, 4) for prompt, _ in work])
    engine.runner.compute = compute
    return max(errors)


def write_checkpoint(model: Llama, folder: Path) -> None:
    """What nano-vllm reads: config, weights and some tokenizer.

    Needs transformers, as nano-vllm does.
    """
    import tokenizers
    import transformers
    from safetensors.torch import save_file

    from reference_impl.weights.pretrained import hugging_face_state

    config = model.config
    transformers.Qwen3Config(
        vocab_size=config.vocab_size,
        hidden_size=config.hidden_size,
        intermediate_size=config.intermediate_size,
        num_hidden_layers=config.num_layers,
        num_attention_heads=config.num_heads,
        num_key_value_heads=config.num_kv_heads,
        head_dim=config.head_dim,
        rope_theta=config.rope_theta,
        max_position_embeddings=config.max_position_embeddings,
        rms_norm_eps=config.rms_norm_eps,
        tie_word_embeddings=True,
        torch_dtype="bfloat16",
        architectures=["Qwen3ForCausalLM"],
    ).save_pretrained(folder)
    state = {
        name: tensor.detach().cpu().contiguous()
        for name, tensor in hugging_face_state(model).items()
    }
    state.pop("lm_head.weight", None)
    save_file(state, folder / "model.safetensors", metadata={"format": "pt"})
    words = tokenizers.Tokenizer(tokenizers.models.WordLevel({"<end>": 0}, unk_token="<end>"))
    transformers.PreTrainedTokenizerFast(tokenizer_object=words, eos_token="<end>").save_pretrained(
        folder
    )


def nano_vllm(folder: Path, model: Llama) -> Callable[[list[Job]], int]:
    """The rival, made after our cache so that it takes what memory is left."""
    if not (folder / "nanovllm").is_dir():
        raise FileNotFoundError(f"there is no {folder / 'nanovllm'}")
    sys.path.insert(0, str(folder))
    import nanovllm

    with tempfile.TemporaryDirectory() as checkpoint:
        write_checkpoint(model, Path(checkpoint))
        rival = nanovllm.LLM(checkpoint, enforce_eager=False, max_model_len=4096, max_num_seqs=256)

    def run(work: list[Job]) -> int:
        for prompt, count in work:
            rival.add_request(
                prompt, nanovllm.SamplingParams(temperature=0.6, ignore_eos=True, max_tokens=count)
            )
        while not rival.is_finished():
            rival.step()
        return sum(count for _, count in work)

    return run


def greedy_differences(bench: Bench) -> float:
    """The share of greedy float32 tokens in which the engine on the GPU differs from the engine on
    the CPU.
    """
    torch.manual_seed(0)
    config = replace(
        QWEN3,
        vocab_size=1000,
        hidden_size=256,
        intermediate_size=512,
        num_layers=bench.size(4, 1),
        num_heads=4,
        num_kv_heads=2,
        head_dim=64,
    )
    model = Llama(config)
    with torch.no_grad():
        for parameter in model.parameters():
            if (
                parameter.ndim > 1
            ):  # larger than they start: tokens should follow from what came before
                parameter.mul_(4)
    work = [
        ([token % 1000 for token in prompt], count)
        for prompt, count in jobs(0, bench.size(16, 3), bench.size(20, 2), bench.size(100, 9))
    ]
    said = []
    for device in ("cpu", bench.device):
        engine = engine_for(model.to(device), [work], cuda_graphs=False)
        handles = [
            engine.add_request(
                prompt, SamplingParams(temperature=0, max_tokens=count, ignore_eos=True)
            )
            for prompt, count in work
        ]
        tokens: dict[Any, list[int]] = {}
        while engine.has_work:
            for output in engine.step():
                tokens.setdefault(output.request_id, []).extend(output.tokens)
        assert len(tokens) == len(handles)
        said.append([token for _, row in sorted(tokens.items()) for token in row])
    return sum(a != b for a, b in zip(*said, strict=True)) / len(said[0])


def greedy(bench: Bench) -> None:
    """Nothing but the machine differs: a wrong kernel shows in the tokens."""
    bench.check("engine, greedy float32 tokens on GPU and CPU", lambda: greedy_differences(bench))


def speeds(
    bench: Bench, sides: dict[str, Callable[[list[Job]], int]], runs: list[list[Job]]
) -> dict[str, list[float]]:
    """Tokens a second of each side, the sides taking turns; the first run warms up."""
    found: dict[str, list[float]] = {name: [] for name in sides}
    for number, work in enumerate(runs):
        for name, side in sides.items():
            bench.synchronize()
            start = time.perf_counter()
            said = side(work)
            bench.synchronize()
            if number:
                found[name].append(said / (time.perf_counter() - start))
    return found


def requests(bench: Bench) -> None:
    """With CUDA graphs where they are right; then against the bandwidth bound, without graphs, and
    nano-vllm.
    """
    config = (
        QWEN3
        if not bench.rehearsal
        else replace(
            QWEN3,
            vocab_size=10_000,
            hidden_size=16,
            intermediate_size=24,
            num_layers=1,
            num_heads=2,
            num_kv_heads=1,
            head_dim=8,
        )
    )
    with torch.device(bench.device):
        model = Llama(config).to(bench.dtype)
    join_projections(model)
    weight_bytes = sum(p.numel() * p.element_size() for p in model.parameters())
    shape = (bench.size(256, 3), bench.size(100, 2), bench.size(1024, 5))
    runs = [jobs(seed, *shape) for seed in range(1 + bench.size(RUNS, 1))]

    def with_graphs() -> Engine:
        engine = engine_for(model, runs, cuda_graphs=not bench.rehearsal)
        wrong = 0.0 if bench.rehearsal else graphs_error(engine, runs[0][:5])
        if not wrong < GRAPHS_RIGHT:
            raise RuntimeError(
                f"logits differ by {wrong:.3g} of the largest, more than {GRAPHS_RIGHT}"
            )
        bench.record.check(bench.part, "CUDA graphs", wrong)
        return engine

    engine = bench.attempt("CUDA graphs", with_graphs)
    graphs = None if engine is None else engine.runner.graphs
    if engine is None:  # without them it is measured all the same
        engine = bench.attempt(NAME, lambda: engine_for(model, runs, cuda_graphs=False))
    if engine is None:
        return
    ours = bench.attempt(
        NAME, lambda: speeds(bench, {NAME: lambda work: serve(engine, work)}, runs)[NAME]
    )
    if ours is None:
        return
    bench.row(alone_row(NAME, "tokens/s", ours))

    def bounded() -> dict[str, Any]:
        bandwidth = sorted(bench.copy_rate())[-1]
        bounds = [
            sum(count for _, count in work) / bound_seconds(work, config, weight_bytes, bandwidth)
            for work in runs[1:]
        ]
        return compare(NAME, "bandwidth bound", "tokens/s", ours, bounds, 0.5, 0.65)

    def plain(work: list[Job]) -> int:
        engine.runner.graphs = None
        try:
            return serve(engine, work)
        finally:
            engine.runner.graphs = graphs

    def against(name: str, side: Callable[[list[Job]], int], must: float | None) -> dict[str, Any]:
        found = speeds(
            bench,
            {"ours": lambda work: serve(engine, work), name: side},
            runs[: 1 + bench.size(3, 1)],
        )
        return compare(NAME, name, "tokens/s", found["ours"], found[name], must)

    rivals: dict[str, Callable[[], dict[str, Any]]] = {
        "bandwidth bound": bounded,
        "own without CUDA graphs": lambda: against("own without CUDA graphs", plain, None),
        "nano-vllm": lambda: against("nano-vllm", nano_vllm(RIVALS / "nano-vllm", model), 1.0),
    }
    for name, row in rivals.items():
        if (found := bench.attempt(attempt_name(NAME, name), row)) is not None:
            bench.row(found)


JOBS = [gpu_timing.Job("greedy tokens", greedy, 60), gpu_timing.Job("requests", requests, 380)]
