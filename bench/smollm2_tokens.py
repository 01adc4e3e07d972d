"""SmolLM2 out of its GGUF file, by us and by transformers: the same tokens? And what three slips at
the file and the cache write.

    python bench/smollm2_tokens.py
        after `course download-data`; about three minutes on one core

transformers' LlamaForCausalLM gets the numbers as the `gguf` package dequantises them, its own
names and its own order of rows: none of that is our code. Both write greedily after the same ids,
each with its own cache of keys and values, theirs by `generate`. The end of a text does not end the
writing. Kept are the tokens, the largest difference between the logits of both over the whole text,
and the smallest lead that a chosen token had: where that is smaller than the difference, equal
tokens would be luck.

Three slips, each without any error: rows of queries and keys left in the file's order; each new
token's position counted from the prompt's length twice; and the whole text passed through the model
at each step although its keys are in the cache already.
"""

import argparse
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from unittest.mock import patch

os.environ |= {"OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "PASSIVE", "HF_HUB_OFFLINE": "1"}
sys.path.insert(0, str(Path(__file__).resolve().parent))

import gguf  # noqa: E402  (threads are set before torch starts)
import numpy as np  # noqa: E402
import torch  # noqa: E402
from record import save  # noqa: E402
from torch import Tensor  # noqa: E402
from transformers import LlamaConfig, LlamaForCausalLM  # noqa: E402
from transformers.modeling_gguf_pytorch_utils import LlamaTensorProcessor  # noqa: E402
from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding  # noqa: E402

from reference_impl import corpora  # noqa: E402
from reference_impl.generation.cache import GrowingCache  # noqa: E402
from reference_impl.generation.loop import generate  # noqa: E402
from reference_impl.generation.sampling_params import SamplingParams  # noqa: E402
from reference_impl.models.llama import Llama  # noqa: E402
from reference_impl.tokenizers.chat import render_chat  # noqa: E402
from reference_impl.tokenizers.gguf_tokenizer import tokenizer_from_metadata  # noqa: E402
from reference_impl.weights import gguf_llama  # noqa: E402
from reference_impl.weights.gguf_files import read_gguf  # noqa: E402

NEW, SLIP, STORY, LONG = 40, 16, 400_000, 200
PLAIN = (
    "We sat on the bank of the",
    "The bank lends money to",
    "def area_of_circle(radius):\n    return",
    "Shanghai is a city in",
)
CHATS = ("What is the capital of France?", "Write one sentence about a river bank.")


def theirs_of(path: Path) -> LlamaForCausalLM:
    """transformers' model of the file, part for part as its `from_pretrained(gguf_file=...)` builds
    it, without the minute that takes.
    """
    file = gguf.GGUFReader(path)
    value = {name: field.contents() for name, field in file.fields.items() if len(field.data) == 1}
    config = LlamaConfig(
        vocab_size=value["llama.vocab_size"],
        hidden_size=value["llama.embedding_length"],
        intermediate_size=value["llama.feed_forward_length"],
        num_hidden_layers=value["llama.block_count"],
        num_attention_heads=value["llama.attention.head_count"],
        num_key_value_heads=value["llama.attention.head_count_kv"],
        max_position_embeddings=value["llama.context_length"],
        rms_norm_eps=value["llama.attention.layer_norm_rms_epsilon"],
        rope_theta=value["llama.rope.freq_base"],
        tie_word_embeddings=True,
    )
    with torch.device("meta"):
        model = LlamaForCausalLM(config)
    table = gguf.get_tensor_name_map(gguf.MODEL_ARCH.LLAMA, config.num_hidden_layers)
    names = {
        table.get_name(name, (".weight",)): name
        for name in model.state_dict()
        if name != "lm_head.weight"
    }
    processor, state = LlamaTensorProcessor(config=config.to_dict()), {}
    for tensor in file.tensors:
        weight = processor.process(
            gguf.quants.dequantize(tensor.data, tensor.tensor_type), tensor.name
        ).weights
        state[names[tensor.name]] = torch.from_numpy(np.array(weight))
    model.load_state_dict(
        {**state, "lm_head.weight": state["model.embed_tokens.weight"]}, assign=True
    )
    model.model.rotary_emb = LlamaRotaryEmbedding(config)
    return model.eval()


@torch.inference_mode()
def written(
    model: Llama, prompt: list[int], new: int, slip: str = ""
) -> tuple[list[int], list[Tensor]]:
    """Greedy with a cache, one token a step, with one slip at most: the tokens, and the shares that
    each was chosen from.
    """
    cache, ids, shares = [GrowingCache() for _ in model.blocks], list(prompt), []
    logits = model(torch.tensor([ids]), cache=cache)
    while True:
        shares.append(logits[0, -1].softmax(-1))
        ids.append(int(shares[-1].argmax()))
        if len(shares) == new:
            return ids[len(prompt) :], shares
        read = ids if slip == "whole text" else ids[-1:]
        positions = torch.arange(len(ids) - len(read), len(ids))[None] + (
            len(prompt) if slip == "position" else 0
        )
        logits = model(torch.tensor([read]), positions=positions, cache=cache)


def slipped(
    ours: Llama, left: Llama, prompt: list[int], decode: Callable[[list[int]], str]
) -> dict[str, dict]:
    """What each slip writes, for how long it writes the same, and how much of the next token's
    shares it moves at the second step.
    """
    right, shares = written(ours, prompt, SLIP)
    found = {"none": {"text": decode(right)}}
    for slip, model in (("position", ours), ("whole text", ours), ("rows", left)):
        ids, others = written(model, prompt, SLIP, slip)
        same = next(
            (place for place, (a, b) in enumerate(zip(ids, right, strict=True)) if a != b), len(ids)
        )
        at = min(1, same)  # a token that is chosen differently is read differently
        found[slip] = {
            "text": decode(ids),
            "same": same,
            "step": at + 1,
            "moved": round(float((others[at] - shares[at]).abs().sum() / 2), 4),
        }
    return found


def main() -> None:
    """Write, compare, write bench/results/smollm2_tokens.json."""
    argparse.ArgumentParser(description=__doc__.split("\n", 1)[0]).parse_args()
    torch.set_num_threads(1)
    started, path = time.process_time(), corpora.path("smollm2") / "SmolLM2-135M-Instruct.Q4_1.gguf"
    metadata = read_gguf(path).metadata
    tokenizer = tokenizer_from_metadata(metadata)
    ours, theirs = gguf_llama.from_gguf(Llama, path), theirs_of(path)
    texts = [
        *PLAIN,
        *(
            render_chat(
                metadata["tokenizer.chat_template"],
                [{"role": "user", "content": chat}],
                add_generation_prompt=True,
            )
            for chat in CHATS
        ),
    ]
    rows = []
    for shown, text in zip([*PLAIN, *CHATS], texts, strict=True):
        ids = tokenizer.encode(text).ids
        said = theirs.generate(
            torch.tensor([ids]),
            do_sample=False,
            max_new_tokens=NEW,
            eos_token_id=None,
            pad_token_id=2,
        )[0].tolist()
        mine = generate(ours, [ids], SamplingParams(temperature=0.0, max_tokens=NEW))[0].ids
        with torch.inference_mode():
            one, other = ours(torch.tensor([said]))[0], theirs(torch.tensor([said])).logits[0]
        best = other[len(ids) - 1 : -1].topk(2).values
        rows.append(
            {
                "prompt": shown,
                "chat": shown in CHATS,
                "given": len(ids),
                "equal": sum(a == b for a, b in zip(mine, said[len(ids) :], strict=True)),
                "new": len(mine),
                "logits_apart": float(f"{float((one - other).abs().max()):.2g}"),
                "smallest_lead": float(f"{float((best[:, 0] - best[:, 1]).min()):.2g}"),
                "text": tokenizer.decode(mine),
            }
        )
        print(rows[-1], flush=True)
    with patch.object(gguf_llama, "unpermute", lambda weight, heads: weight):
        left = gguf_llama.from_gguf(Llama, path)
    story = tokenizer.encode(corpora.load("kjv")[STORY:]).ids[:LONG]
    slips = [
        {
            "given": len(ids),
            "prompt": tokenizer.decode(ids),
            **slipped(ours, left, ids, tokenizer.decode),
        }
        for ids in (tokenizer.encode(PLAIN[0]).ids, story)
    ]
    print(slips)
    save(
        "smollm2_tokens",
        versions=("torch", "transformers", "gguf", "numpy"),
        file_bytes=path.stat().st_size,
        parameters=sum(p.numel() for p in ours.parameters()),
        compared=rows,
        slips=slips,
        cpu_seconds=round(time.process_time() - started),
    )


if __name__ == "__main__":
    main()
