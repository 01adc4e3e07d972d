"""One model in one process and in two: the same tokens, and what each holds, sends and waits for.

    python bench/two_ranks.py        a minute, on two cores if it gets them

The trained GPT of scripture, cut as `layers.tensor_parallel` says; the ranks meet over gloo. Sums
are counted where they are made, in rank 0. Then the same for SmolLM2 if it is there, in three,
since its three heads of keys can't be cut in two. Seconds a step are medians of runs that take
turns; `machine` says who else was there.
"""

import os
import statistics
import tempfile
import time
from pathlib import Path

os.environ |= {"OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "PASSIVE"}

import torch.distributed as dist  # noqa: E402  (threads are set before torch starts)
from record import save  # noqa: E402
from served import write_small_gpt  # noqa: E402

from reference_impl import corpora  # noqa: E402
from reference_impl.engine.engine import Engine, EngineConfig  # noqa: E402
from reference_impl.engine.loading import LoadingError, load  # noqa: E402
from reference_impl.engine.ranks import Ranks, pack  # noqa: E402
from reference_impl.engine.scheduler import SchedulerConfig  # noqa: E402
from reference_impl.generation.sampling_params import SamplingParams  # noqa: E402
from reference_impl.layers.tensor_parallel import Shard  # noqa: E402

CONFIG = EngineConfig(num_blocks=64, scheduler=SchedulerConfig(max_num_seqs=8, max_model_len=128))
TURNS = 3


def said(engine: Engine, prompts: list[str], tokens: int) -> tuple[list[list[int]], list[float]]:
    """Greedy answers, and the seconds of each step in which all decode."""
    ids, seconds = {}, []
    for number, prompt in enumerate(prompts):
        engine.add_request(
            prompt, SamplingParams(temperature=0, max_tokens=tokens, ignore_eos=True), str(number)
        )
    while engine.has_work:
        started = time.perf_counter()
        outputs = engine.step()
        if len(outputs) == len(prompts):
            seconds.append(time.perf_counter() - started)
        for output in outputs:
            ids.setdefault(output.request_id, []).extend(token.id for token in output.tokens)
    return [ids[str(number)] for number in range(len(prompts))], seconds


def held(engine: Engine) -> dict[str, int]:
    """Bytes of weights, of those of them that are cut, and of the cache, in this process."""
    whole = {
        name: value.numel() * value.element_size()
        for name, value in engine.runner.model.named_parameters()
    }
    return {
        "weights": sum(whole.values()),
        "blocks": sum(size for name, size in whole.items() if "blocks." in name),
        "cache": engine.runner.cache.pool.numel() * engine.runner.cache.pool.element_size(),
    }


def compare(path: Path | None, size: int, prompts: list[str], tokens: int) -> dict:
    """Both ways, taking turns."""
    whole = load(path)
    one = Engine(whole.model, CONFIG, whole.tokenizer, whole.eos_ids)
    with Ranks.start(size, None if path is None else str(path), "float32", "cpu") as ranks:
        part = load(path, shard=ranks.shard)
        many = Engine(part.model, CONFIG, part.tokenizer, part.eos_ids, ranks=ranks)
        sums, told, add = [], [], dist.all_reduce

        def counted(x, *rest, **options):
            sums.append(x.numel() * x.element_size())
            return add(x, *rest, **options)

        dist.all_reduce = counted
        compute = many.runner.compute

        def computed(prepared):
            told.append((len(sums), pack(prepared).numel() * 8, len(prepared.rows or [])))
            return compute(prepared)

        many.runner.compute = computed
        seconds, answers = {"one": [], "many": []}, []
        for _ in range(TURNS):
            for name, engine in (("one", one), ("many", many)):
                texts, times = said(engine, prompts, tokens)
                answers.append(texts)
                seconds[name].append(statistics.median(times))
        dist.all_reduce = add
        steps = len(told)
        ends = [start for start, _, _ in told[1:]] + [len(sums)]
        decoding = [
            (end - start, sums[start:end], spoken)
            for (start, spoken, _), end in zip(told, ends, strict=True)
        ][1:tokens]
        return {
            "ranks": size,
            "prompts": len(prompts),
            "tokens": tokens,
            "equal": all(each == answers[0] for each in answers),
            "steps": steps,
            "sums_a_step": sorted({count for count, _, _ in decoding}),
            "bytes_a_sum": sorted({each for _, sizes, _ in decoding for each in sizes}),
            "bytes_told_a_step": [
                min(spoken for *_, spoken in decoding),
                max(spoken for *_, spoken in decoding),
            ],
            "held": {"one": held(one), "rank 0": held(many)},
            "milliseconds_a_step": {
                name: [round(1000 * value, 3) for value in values]
                for name, values in seconds.items()
            },
        }


def main() -> None:
    """Both models, recorded."""
    verses = [line for line in corpora.load("kjv").split("\n") if len(line.split()) > 8]
    prompts = [" ".join(verse.split()[:8]) for verse in verses[100:108]]
    with tempfile.TemporaryDirectory() as folder:
        found = {
            "gpt_kjv": compare(write_small_gpt(Path(folder) / "gpt_kjv", "gpt_kjv"), 2, prompts, 40)
        }
    print(found["gpt_kjv"], flush=True)
    try:
        load(None, shard=Shard(0, 2, lambda _: None))
    except LoadingError as error:
        found["smollm2_in_two"] = str(error)
        found["smollm2"] = compare(None, 3, prompts, 16)
    except corpora.CorpusError as error:
        print(error)
    print(found)
    save("two_ranks", versions=["torch"], seed=0, models=found)


if __name__ == "__main__":
    main()
