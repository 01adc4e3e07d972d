"""An encoder that labels a text beside a decoder that reads it, and one that writes: the same
blocks, times in turn.

    python bench/read_or_write.py [--repetitions 9]        some seconds on one core

Both have 4 blocks of 128 with 4 heads and random weights, and get the same 128 tokens: the time
does not depend on what the weights are. The encoder gives two logits, the decoder those of the next
token; then it writes 64 tokens, once with a cache of keys and values and once reading everything
again. Operations are counted, times are medians of runs that take turns, so that a busy machine
slows all.
"""

import argparse
import os
import statistics
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

import torch  # noqa: E402  (threads are set before torch starts)
from record import save  # noqa: E402

from reference_impl.generation.loop import generate  # noqa: E402
from reference_impl.generation.sampling_params import SamplingParams  # noqa: E402
from reference_impl.measure.flops import count_flops  # noqa: E402
from reference_impl.models.bert import BertConfig  # noqa: E402
from reference_impl.models.bert_tasks import BertForSequenceClassification  # noqa: E402
from reference_impl.models.gpt import GPT, GPTConfig  # noqa: E402

TOKENS, WRITTEN = 128, 64
SIZES = {
    "vocab_size": 1024,
    "hidden_size": 128,
    "num_layers": 4,
    "num_heads": 4,
    "max_position_embeddings": 256,
    "intermediate_size": 512,
}


@torch.inference_mode()
def main() -> None:
    """Measure, write bench/results/read_or_write.json."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--repetitions", type=int, default=9)
    args = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    encoder, decoder = (
        BertForSequenceClassification(BertConfig(**SIZES)).eval(),
        GPT(GPTConfig(**SIZES)).eval(),
    )
    ids = torch.randint(SIZES["vocab_size"], (1, TOKENS))
    params = {many: SamplingParams(temperature=0, max_tokens=many) for many in (1, WRITTEN)}
    ways = {
        "encoder, a label": lambda: encoder(ids),
        "decoder, reads": lambda: generate(decoder, ids.tolist(), params[1]),
        "decoder, writes with a cache": lambda: generate(decoder, ids.tolist(), params[WRITTEN]),
        "decoder, writes without": lambda: generate(
            decoder, ids.tolist(), params[WRITTEN], cache=False
        ),
    }
    times: dict[str, list[float]] = {name: [] for name in ways}
    for run in ways.values():
        run()  # what is made on the first call is not timed
    for _ in range(args.repetitions):
        for name, run in ways.items():
            started = time.perf_counter()
            run()
            times[name].append(1000 * (time.perf_counter() - started))
    save(
        "read_or_write",
        versions=("torch",),
        sizes=SIZES,
        tokens=TOKENS,
        written=WRITTEN,
        repetitions=args.repetitions,
        gigaflops={name: round(count_flops(run) / 1e9, 4) for name, run in ways.items()},
        milliseconds={name: round(statistics.median(values), 1) for name, values in times.items()},
        times_the_encoder={
            name: round(
                statistics.median(
                    a / b for a, b in zip(values, times["encoder, a label"], strict=True)
                ),
                2,
            )
            for name, values in times.items()
        },
    )


if __name__ == "__main__":
    main()
