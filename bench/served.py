"""What the benches of the server share: `course serve` as a process of its own, and small models
for it.

Not a bench. `soak.py`, `serving.py` and `waiting.py` use it.
"""

import contextlib
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import torch

from reference_impl.corpora.small_models import small_model
from reference_impl.models.llama import Llama, LlamaConfig
from reference_impl.tokenizers import tokenizer_json
from reference_impl.tokenizers.byte_level import ByteLevelBPE, byte_characters
from reference_impl.tokenizers.pretokenizers import GPT2
from reference_impl.tokenizers.tokenizer import Tokenizer
from reference_impl.tokenizers.vocabulary import Vocabulary
from reference_impl.weights.pretrained import hugging_face_state
from reference_impl.weights.safetensors_files import write_weights

SPECIALS = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def write_tiny_model(folder: Path) -> Path:
    """A random LLaMA whose tokens are bytes, in the usual files."""
    config = LlamaConfig(
        vocab_size=259,
        hidden_size=64,
        num_layers=2,
        num_heads=4,
        num_kv_heads=2,
        intermediate_size=128,
        max_position_embeddings=2048,
    )
    torch.manual_seed(0)
    write_weights(folder, hugging_face_state(Llama(config)))
    vocabulary = Vocabulary(SPECIALS + byte_characters())
    tokenizer_json.save(
        Tokenizer(ByteLevelBPE(vocabulary, [], GPT2), None, GPT2, SPECIALS),
        folder / "tokenizer.json",
    )
    published = {
        "model_type": "llama",
        "vocab_size": 259,
        "hidden_size": 64,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "intermediate_size": 128,
        "rms_norm_eps": 1e-6,
        "max_position_embeddings": 2048,
        "eos_token_id": 2,
    }
    (folder / "config.json").write_text(json.dumps(published))
    (folder / "tokenizer_config.json").write_text(json.dumps({"chat_template": TEMPLATE}))
    return folder


def write_small_gpt(folder: Path, name: str) -> Path:
    """A GPT of `corpora/trained`, in the files of a published GPT-2."""
    kept = small_model(name)
    config = kept.card["config"]
    write_weights(folder, hugging_face_state(kept.model))
    vocabulary = kept.tokenizer.vocabulary
    tokenizer_json.save(Tokenizer(kept.tokenizer, None, GPT2, []), folder / "tokenizer.json")
    published = {
        "model_type": "gpt2",
        "vocab_size": config["vocab_size"],
        "n_embd": config["hidden_size"],
        "n_layer": config["num_layers"],
        "n_head": config["num_heads"],
        "n_positions": config["max_position_embeddings"],
        "n_inner": config["intermediate_size"],
        "activation_function": config["hidden_act"],
        "layer_norm_epsilon": config["layer_norm_eps"],
        "eos_token_id": len(vocabulary) - 1,
    }
    (folder / "config.json").write_text(json.dumps(published))
    return folder


@contextlib.contextmanager
def course_serve(*arguments: object) -> Iterator[tuple[subprocess.Popen, str]]:
    """The process of `course serve` at a free port, and its address without /v1.

    It is ended at the end.
    """
    process = subprocess.Popen(
        [sys.executable, "-m", "course.cli", "serve", "--port", "0", *map(str, arguments)],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        for line in process.stdout:
            print(line, end="")
            if found := re.search(r"(http://\S+)/v1", line):
                yield process, found.group(1)
                break
        else:
            raise SystemExit("course serve did not start")
    finally:
        process.terminate()
        process.wait()
