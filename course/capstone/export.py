"""The export stage: folders that `course serve`, transformers and vLLM load.

    config.json, generation_config.json, model.safetensors
    tokenizer.json, tokenizer_config.json, chat_template.jinja

The reinforced model is the product, in FOLDER/export/ferryman; the pre-trained and the tuned model
are exported next to it, so that the report card can ask all three the same questions.

The student's own `export_config` (chapter 17) says what is written, where it exists.
"""

import json
import os
import shutil
from pathlib import Path

from course.capstone.parts import export_sizes
from course.capstone.pretrain import make_model
from course.capstone.stages import Clock, Run
from course.capstone.tokenizer import END, SPECIALS, load_tokenizer
from reference_impl.models.llama import LlamaConfig
from reference_impl.tokenizers import tokenizer_json_writing
from reference_impl.tokenizers.tokenizer import Tokenizer
from reference_impl.weights.pretrained import hugging_face_state
from reference_impl.weights.safetensors_files import write_weights

EXPORTED = {"pretrain": "pretrained", "tune": "tuned", "reinforce": "ferryman"}
CHAT_TEMPLATE = (
    "{%- for message in messages -%}"
    "{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>\\n' }}"
    "{%- endfor -%}"
    "{%- if add_generation_prompt -%}{{ '<|im_start|>assistant\\n' }}{%- endif -%}"
)


def published_config(config: LlamaConfig) -> dict:
    """The object of a config.json, with transformers' names."""
    return {
        "model_type": "llama",
        "architectures": ["LlamaForCausalLM"],
        "vocab_size": config.vocab_size,
        "hidden_size": config.hidden_size,
        "intermediate_size": config.intermediate_size,
        "num_hidden_layers": config.num_layers,
        "num_attention_heads": config.num_heads,
        "num_key_value_heads": config.num_kv_heads,
        "max_position_embeddings": config.max_position_embeddings,
        "rms_norm_eps": config.rms_norm_eps,
        "rope_theta": config.rope_theta,
        "tie_word_embeddings": config.tie_word_embeddings,
        "hidden_act": "silu",
        "attention_bias": False,
        "mlp_bias": False,
        "bos_token_id": None,
        "eos_token_id": END,
        "torch_dtype": "float32",
    }


def export_model(run: Run, stage: str, folder: Path) -> None:
    """Write one stage's model; the folder appears whole or not at all."""
    fresh = folder.with_name(f"unfinished-{folder.name}")
    shutil.rmtree(fresh, ignore_errors=True)
    fresh.mkdir(parents=True)
    model = run.load_weights(stage, make_model(run)).cpu()
    weights = hugging_face_state(model)
    if model.config.tie_word_embeddings:
        weights.pop("lm_head.weight", None)  # it is the embedding
    config, own = published_config(model.config), run.parts.own("export_config")
    if own is not None:
        found = own({**export_sizes(model.config), "end_id": END})
        config, weights = found["config"], {name: weights[name] for name in found["tensors"]}
    write_weights(fresh, weights)
    tokenizer = load_tokenizer(run)
    wrapped = Tokenizer(tokenizer, pattern=tokenizer.pattern, specials=SPECIALS)
    tokenizer_json_writing.save(wrapped, fresh / "tokenizer.json")
    settings = {
        "config.json": config,
        "generation_config.json": {"eos_token_id": END},
        "tokenizer_config.json": {
            "tokenizer_class": "PreTrainedTokenizerFast",
            "eos_token": SPECIALS[END],
            "chat_template": CHAT_TEMPLATE,
            "model_max_length": model.config.max_position_embeddings,
        },
    }
    for name, content in settings.items():
        (fresh / name).write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    (fresh / "chat_template.jinja").write_text(CHAT_TEMPLATE, encoding="utf-8")
    shutil.rmtree(folder, ignore_errors=True)
    os.rename(fresh, folder)


def run_stage(run: Run, clock: Clock) -> None:
    """Export the model of each stage."""
    for stage, name in EXPORTED.items():
        export_model(run, stage, run.path("export", name))
    size = sum(file.stat().st_size for file in run.path("export", "ferryman").iterdir())
    run.finish("export", clock, bytes=size)
