"""Does a row's result depend on what else is in the batch? Logits and greedy texts, alone and in
batches, on this CPU.

    python bench/batch_invariance.py        two minutes on one core

Matrices: the first row of x (B, D) times w (D, V) with SmolLM2's shapes, for several B, against
B = 1; and the same product run again.

SmolLM2 (135 million parameters) in float32 and in bfloat16: PROMPTS beginnings are continued
greedily for NEW tokens, each alone and all together, of one length, so that there is no padding.
Recorded are the largest difference of the first token's logits and after how many tokens each text
differs. Writes bench/results/batch_invariance.json.
"""

import os
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

import torch  # noqa: E402  (threads are set before torch starts)
from record import save  # noqa: E402

from reference_impl import corpora  # noqa: E402
from reference_impl.generation.loop import generate  # noqa: E402
from reference_impl.generation.sampling_params import SamplingParams  # noqa: E402
from reference_impl.tokenizers.gguf_tokenizer import tokenizer_from_metadata  # noqa: E402
from reference_impl.weights.gguf_files import read_gguf  # noqa: E402

SIZES, SHAPE = (1, 2, 4, 8, 16, 64), (576, 49_152)
PROMPTS, GIVEN, NEW = 16, 12, 48


def products(dtype: torch.dtype) -> dict[str, float]:
    """Largest difference of row 0 to what it is alone, by batch size."""
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(max(SIZES), SHAPE[0], generator=generator).to(dtype)
    w = (torch.randn(SHAPE, generator=generator) / SHAPE[0] ** 0.5).to(dtype)
    alone = (x[:1] @ w)[0].float()
    found = {str(size): float(((x[:size] @ w)[0].float() - alone).abs().max()) for size in SIZES}
    found["again"] = float(((x[:1] @ w)[0].float() - alone).abs().max())
    return found


def main() -> None:
    """Compare alone with together, write the record."""
    torch.set_num_threads(1)
    started = time.process_time()
    model = corpora.load("smollm2").eval()
    path = next(corpora.path("smollm2").glob("*.gguf"))
    tokenizer = tokenizer_from_metadata(read_gguf(path).metadata)
    text = list(tokenizer.encode(corpora.load("kjv")[400_000:430_000]).ids)
    prompts = [text[start : start + GIVEN] for start in range(0, PROMPTS * 300, 300)]
    params, found = SamplingParams(temperature=0, max_tokens=NEW, logprobs=2), {}
    for name, dtype in (("float32", torch.float32), ("bfloat16", torch.bfloat16)):
        model = model.to(dtype)
        with torch.inference_mode():
            together = model(torch.tensor(prompts))[:, -1].float()
            alone = torch.stack([model(torch.tensor([one]))[0, -1].float() for one in prompts])
        batch = generate(model, prompts, params)
        single = [generate(model, [one], params)[0] for one in prompts]
        again = generate(model, prompts, params)
        splits, gaps = [], []
        for one, other in zip(single, batch, strict=True):
            at = next((n for n in range(NEW) if one.ids[n] != other.ids[n]), None)
            splits.append(at)
            if at is not None:
                gaps.append(round(one.top_logprobs[at][0][1] - one.top_logprobs[at][1][1], 4))
        found[name] = {
            "logits": float((together - alone).abs().max()),
            "logits_of_size": float(alone.abs().max()),
            "products": products(dtype),
            "differs_after": splits,
            "gap_there": gaps,
            "same_batch_again": [one.ids for one in again] == [one.ids for one in batch],
        }
        print(name, found[name], flush=True)
    save(
        "batch_invariance",
        versions=("torch",),
        threads=1,
        prompts=PROMPTS,
        given=GIVEN,
        new=NEW,
        shape=list(SHAPE),
        sizes=list(SIZES),
        found=found,
        capability=torch.backends.cpu.get_cpu_capability(),
        cpu_seconds=round(time.process_time() - started),
    )


if __name__ == "__main__":
    main()
