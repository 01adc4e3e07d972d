"""BERT, ALBERT and DistilBERT of the published sizes: numbers, operations, seconds.

    python bench/encoder_costs.py        about half a minute on one core

Weights are drawn at random: what they are worth changes no number and no operation. Numbers are
counted in the parameters, operations by torch in one pass over 128 tokens
(`measure.flops.count_flops`), seconds as the median of paired passes: each round times all three,
one after another, because a busy machine slows all of them. The ratio is against BERT.
"""

import argparse
import os
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")

import torch  # noqa: E402  (threads are set before torch starts)
from record import compare, save  # noqa: E402

from reference_impl.measure.flops import count_flops, count_parameters  # noqa: E402
from reference_impl.models.albert import Albert, AlbertConfig  # noqa: E402
from reference_impl.models.bert import Bert, BertConfig  # noqa: E402
from reference_impl.models.distilbert import DistilBert, DistilBertConfig  # noqa: E402

TOKENS, ROUNDS = 128, 7
MODELS = {
    "BERT-base": lambda: Bert(BertConfig()),
    "ALBERT-base": lambda: Albert(AlbertConfig()),
    "DistilBERT": lambda: DistilBert(DistilBertConfig()),
}


def main() -> None:
    """Count and time, write bench/results/encoder_costs.json."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    args = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    ids = torch.randint(5, 20_000, (1, TOKENS))
    models = {name: make().eval() for name, make in MODELS.items()}
    seconds = {name: [] for name in models}
    with torch.no_grad():
        counted = {
            name: {
                "parameters": count_parameters(model),
                "gigaflops": round(count_flops(lambda model=model: model(ids)) / 1e9, 3),
            }
            for name, model in models.items()
        }
        for _ in range(args.rounds):
            for name, model in models.items():
                started = time.perf_counter()
                model(ids)
                seconds[name].append(time.perf_counter() - started)
    rows = [
        compare(
            f"one pass of {name}",
            "BERT-base",
            "s",
            seconds[name],
            seconds["BERT-base"],
            larger_is_better=False,
        )
        for name in models
        if name != "BERT-base"
    ]
    for name, found in counted.items():
        found["seconds"] = round(sorted(seconds[name])[args.rounds // 2], 4)
    save("encoder_costs", rows, versions=("torch",), tokens=TOKENS, threads=1, found=counted)


if __name__ == "__main__":
    main()
