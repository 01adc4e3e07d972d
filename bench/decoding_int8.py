"""SmolLM2-135M on one thread: float32 and eight-bit weights against llama.cpp on the same Q4_1
file.

    mkdir RIVAL && cd RIVAL && npm install node-llama-cpp
        (a built library; outside the checkout and the lock)
    python bench/decoding_int8.py --rival RIVAL [--repetitions 5]

All go on greedily from the same prompt ids. llama.cpp reads the file's four-bit blocks as they are
and rounds what they are multiplied with to eight bits; ours are the same blocks multiplied out, in
float32 and then in eight bits a weight. So logits differ a little, and near ties are chosen
differently: what is asked of each text is that every token of it is, by our float32 model after the
same text, likeliest or nearly so (GAP). What is timed is the same number of steps. Bandwidth:
summing the float32 weights once.
"""

import argparse
import json
import os
import statistics
import subprocess
import time
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

import torch  # noqa: E402  (threads are set before torch starts)
from record import compare, save  # noqa: E402

from reference_impl import corpora  # noqa: E402
from reference_impl.generation.layout import store_by_longer_side  # noqa: E402
from reference_impl.generation.loop import stream  # noqa: E402
from reference_impl.generation.sampling_params import SamplingParams  # noqa: E402
from reference_impl.layers.int8 import quantize, weight_bytes  # noqa: E402
from reference_impl.models.llama import Llama  # noqa: E402
from reference_impl.tokenizers.gguf_tokenizer import tokenizer_from_metadata  # noqa: E402
from reference_impl.weights.gguf_files import read_gguf  # noqa: E402
from reference_impl.weights.gguf_llama import from_gguf  # noqa: E402

PROMPT, NUM_NEW = "The river bank was steep, and the boat lay under the willow tree.", 48
GAP = 1.0  # nats that a token may be less likely than the likeliest
RIVAL = """
import {getLlama} from "node-llama-cpp";
const [file, ids, count] = [process.argv[2], JSON.parse(process.argv[3]), Number(process.argv[4])];
const llama = await getLlama({gpu: false, maxThreads: 1, build: "never", skipDownload: true,
    logLevel: "error"});
const model = await llama.loadModel({modelPath: file});
const context = await model.createContext({contextSize: 256, threads: 1, batchSize: 128});
const said = [];
let started = 0;
for await (const token of context.getSequence().evaluate(ids, {temperature: 0})) {
  if (said.length === 0) started = performance.now();
  said.push(token);
  if (said.length === count) break;
}
console.log(JSON.stringify({said, seconds: (performance.now() - started) / 1000}));
process.exit(0);
"""


def rate_of_rival(folder: Path, file: Path, ids: list[int]) -> tuple[float, list[int]]:
    """Tokens a second after the first, and the tokens, in a process of its own."""
    script = folder / "decode.mjs"
    script.write_text(RIVAL)
    done = subprocess.run(
        ["node", script, file, json.dumps(ids), str(NUM_NEW)],
        cwd=folder,
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise SystemExit(f"llama.cpp ended with {done.returncode}: {done.stderr[-500:]}")
    answer = json.loads(done.stdout.strip().splitlines()[-1])
    return (NUM_NEW - 1) / answer["seconds"], answer["said"]


def rate(model: Llama, ids: list[int]) -> tuple[float, list[int]]:
    """The same of ours."""
    chosen = stream(
        model, [ids], SamplingParams(temperature=0, max_tokens=NUM_NEW, ignore_eos=True)
    )
    said = [next(chosen).token]
    started = time.perf_counter()
    said += [each.token for each in chosen]
    return (NUM_NEW - 1) / (time.perf_counter() - started), said


@torch.inference_mode()
def largest_gap(model: Llama, ids: list[int], said: list[int]) -> float:
    """By how many nats at most one of these tokens is less likely than the likeliest in
    its place.
    """
    logprobs = model(torch.tensor([ids + said]))[0, len(ids) - 1 : -1].log_softmax(-1)  # (N, V)
    chosen = logprobs.gather(1, torch.tensor(said)[:, None])[:, 0]
    return float((logprobs.amax(-1) - chosen).max())


def bandwidth(model: Llama) -> float:
    """Bytes a second of summing all weights."""
    started = time.perf_counter()
    for weight in model.parameters():
        weight.sum()
    return weight_bytes(model) / (time.perf_counter() - started)


def main() -> None:
    """Measure, and write bench/results/decoding_int8.json."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--rival", type=Path, help="the folder that node-llama-cpp is installed in")
    parser.add_argument("--repetitions", type=int, default=5)
    args = parser.parse_args()
    torch.set_num_threads(1)
    file = read_gguf(next(corpora.path("smollm2").glob("*.gguf")))
    ids = tokenizer_from_metadata(file.metadata).encode(PROMPT).ids
    wide, small = from_gguf(Llama, file.path), from_gguf(Llama, file.path)
    store_by_longer_side(wide)
    quantize(small)
    rates: dict[str, list[float]] = {
        "float32": [],
        "int8": [],
        "llama.cpp": [],
        "bound": [],
        "bound int8": [],
    }
    for number in range(args.repetitions + 1):  # the first warms up
        found = {"float32": rate(wide, ids), "int8": rate(small, ids)}
        if args.rival:
            found["llama.cpp"] = rate_of_rival(args.rival, file.path, ids)
        gaps = {name: round(largest_gap(wide, ids, said), 3) for name, (_, said) in found.items()}
        if max(gaps.values()) > GAP:
            raise SystemExit(
                "these are not one model's texts, by how far a token is from the likeliest, in"
                f" nats: {gaps}"
            )
        read = bandwidth(wide)
        bounds = {"bound": read / weight_bytes(wide), "bound int8": read / weight_bytes(small)}
        print(
            {
                name: round(speed, 1)
                for name, speed in {**{n: r for n, (r, _) in found.items()}, **bounds}.items()
            }
        )
        if number:
            for name, speed in {**{n: r for n, (r, _) in found.items()}, **bounds}.items():
                rates[name].append(speed)
    title = "greedy decoding, SmolLM2-135M, one thread"
    rows = [
        compare(f"{title}, int8", "own float32", "tokens/s", rates["int8"], rates["float32"]),
        compare(
            f"{title}, float32", "read bandwidth", "tokens/s", rates["float32"], rates["bound"], 0.7
        ),
        compare(
            f"{title}, int8", "read bandwidth", "tokens/s", rates["int8"], rates["bound int8"], 0.7
        ),
    ]
    if args.rival:
        rows += [
            compare(
                f"{title}, float32",
                "llama.cpp, Q4_1",
                "tokens/s",
                rates["float32"],
                rates["llama.cpp"],
                0.15,
            ),
            compare(
                f"{title}, int8",
                "llama.cpp, Q4_1",
                "tokens/s",
                rates["int8"],
                rates["llama.cpp"],
                0.4,
                0.6,
            ),
        ]
    save(
        "decoding_int8",
        rows,
        bytes={"float32": weight_bytes(wide), "int8": weight_bytes(small)},
        largest_gap_in_nats=gaps,
        tokens_a_second={
            name: round(statistics.median(each), 1) for name, each in rates.items() if each
        },
    )


if __name__ == "__main__":
    main()
