"""Which functions of the pipeline are the student's own, and which the reference implementation.

`course package NN` puts a student's passing functions into `mywork/word2serve_me`. A function is
used if its module is there, is not borrowed, and agrees with the reference implementation on a
small example. It runs in this process: this is the student's own machine.
"""

import hashlib
import importlib
import inspect
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from autograder.checks.restrictions.reference_imports import PACKAGE, is_borrowed
from reference_impl.layers.attention import attention
from reference_impl.layers.norms import rms_norm
from reference_impl.models.llama import Llama, LlamaConfig
from reference_impl.objectives.grpo import distance, group_advantages
from reference_impl.objectives.supervised import ChatML, Message
from reference_impl.weights.pretrained import hugging_face_state


@dataclass(frozen=True)
class Part:
    """An exercise whose function the pipeline can use."""

    function: str
    chapter: str
    stage: str  # the first stage that uses it
    what: str
    agrees: Callable[[Callable], bool]


@dataclass(frozen=True)
class Parts:
    """The student's own functions by name, and for the others why they are borrowed."""

    functions: dict[str, Callable] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)
    digests: dict[str, str] = field(default_factory=dict)

    def own(self, name: str) -> Callable | None:
        """The student's function, or None where the reference implementation is used."""
        return self.functions.get(name)

    def sources(self, stage: str) -> dict[str, str]:
        """Hashes of the own functions that a stage is the first to use, by name."""
        return {
            part.function: self.digests[part.function]
            for part in PARTS
            if part.stage == stage and part.function in self.functions
        }

    def rows(self) -> list[dict[str, str]]:
        """For the report card: each part, whose it is, and why if it is borrowed."""
        return [
            {
                "part": part.what,
                "function": part.function,
                "chapter": part.chapter,
                "whose": "own" if part.function in self.functions else "borrowed",
                "reason": self.reasons.get(part.function, ""),
            }
            for part in PARTS
        ]


def _close(found: Any, expected: torch.Tensor) -> bool:
    return torch.allclose(torch.as_tensor(found), expected, rtol=1e-4, atol=1e-5)


def _random(*shape: int) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(len(shape)))


def _trains_bpe(function: Callable) -> bool:
    merges = function(["aab", "ab", "c"], [3, 4, 9], 2)
    return [tuple(pair) for pair in merges] == [("a", "b"), ("a", "ab")]


def _loses(function: Callable) -> bool:
    logits, ids = _random(2, 5, 7), torch.tensor([[1, 2, 3, 4, 5], [6, 5, 4, 3, 2]])
    mean = torch.nn.functional.cross_entropy(logits[:, :-1].flatten(0, 1), ids[:, 1:].flatten())
    return _close(function(logits, ids, torch.ones_like(ids, dtype=torch.bool)), mean)


def _norms(function: Callable) -> bool:
    x, weight = _random(2, 3, 8), _random(8)
    return _close(function(x, weight, 1e-6), rms_norm(x, weight, 1e-6))


def _gates(function: Callable) -> bool:
    x, gate, up, down = _random(2, 3, 4), _random(6, 4), _random(6, 4) * 2, _random(4, 6)
    expected = (torch.nn.functional.silu(x @ gate.T) * (x @ up.T)) @ down.T
    return _close(function(x, gate, up, down), expected)


def _attends(function: Callable) -> bool:
    q, k, v = _random(2, 4, 5, 6), _random(2, 2, 5, 6), _random(2, 2, 5, 6) + 1
    return _close(function(q, k, v), attention(q, k, v, None, causal=True))


def _lays_out(function: Callable) -> bool:
    def encode(text: str) -> list[int]:
        return [ord(character) + 2 for character in text]

    said = [("user", "ab?"), ("assistant", "c."), ("user", "d"), ("assistant", "ee")]
    expected = ChatML(encode, 0, 1).example([Message(*one) for one in said])
    messages = [{"role": role, "content": content} for role, content in said]
    ids, labels = function(messages, encode, 0, 1)
    return list(ids) == expected.ids and list(labels) == expected.labels


def _advantages(function: Callable) -> bool:
    rewards = torch.tensor([[1.0, 0.0, 0.0, 1.0], [1.0, 1.0, 1.0, 1.0], [0.0, 0.0, 1.0, 0.0]])
    return _close(function(rewards), group_advantages(rewards))


def _distances(function: Callable) -> bool:
    one, other = -_random(2, 3).abs(), -_random(2, 3).abs() - 0.5
    return _close(function(one, other), distance(one, other))


def _pays(function: Callable) -> bool:
    end = "<|im_end|>"
    answers = (f"7+5=12, 1+4+8=13, 132{end}", f"I say 132{end} 7", f"131 132 133{end}")
    answers += (f"47+85{end}", f"0132{end}", "I say 132", "")
    return [float(function("47+85", answer)) for answer in answers] == [1, 1, 0, 0, 0, 0, 0]


def _exports(function: Callable) -> bool:
    config = LlamaConfig(
        vocab_size=12,
        hidden_size=8,
        intermediate_size=6,
        num_layers=2,
        num_heads=4,
        num_kv_heads=2,
        max_position_embeddings=16,
        tie_word_embeddings=True,
    )
    found = function({**export_sizes(config), "end_id": 1})
    state = hugging_face_state(Llama(config))
    state.pop("lm_head.weight", None)
    shapes = {name: tuple(tensor.shape) for name, tensor in state.items()}
    same = {name: tuple(shape) for name, shape in found["tensors"].items()} == shapes
    return same and found["config"]["num_key_value_heads"] == 2


def export_sizes(config: LlamaConfig) -> dict:
    """What the exercise `export_config` is given, but for the id of the end token."""
    names = (
        "vocab_size hidden_size intermediate_size num_layers num_heads num_kv_heads"
        " max_position_embeddings rope_theta rms_norm_eps tie_word_embeddings"
    )
    return {name: getattr(config, name) for name in names.split()}


PARTS = (
    Part("train_bpe", "02", "tokenizer", "merges of the tokenizer", _trains_bpe),
    Part("rms_norm", "12", "pretrain", "RMSNorm", _norms),
    Part("swiglu", "12", "pretrain", "feed-forward layer", _gates),
    Part("grouped_attention", "12", "pretrain", "attention in training", _attends),
    Part("next_token_loss", "08", "pretrain", "pre-training loss", _loses),
    Part("chat_example", "10", "tune", "chat template and labels", _lays_out),
    Part("group_advantages", "10", "reinforce", "advantages of GRPO", _advantages),
    Part("k3", "10", "reinforce", "KL penalty of GRPO", _distances),
    Part("sum_reward", "17", "reinforce", "reward of GRPO", _pays),
    Part("export_config", "17", "export", "config.json and tensor names", _exports),
)


def find_parts(package: Path = PACKAGE) -> Parts:
    """The student's own functions in a package; without the package everything is borrowed."""
    found = Parts()
    for part in PARTS:
        reason = _take(part, package, found)
        if reason:
            found.reasons[part.function] = reason
    return found


def _take(part: Part, package: Path, found: Parts) -> str:
    """Put a function into `found`; or why the reference implementation is used."""
    modules = sorted(package.glob(f"c{part.chapter}_*.py"))
    if not modules:
        return f"run `course package {part.chapter}` to use your own"
    if is_borrowed(modules[0]):
        return f"chapter {part.chapter} is borrowed: `course package {part.chapter} --from mine`"
    if str(package.parent) not in sys.path:
        sys.path.insert(0, str(package.parent))
    try:
        module = importlib.import_module(f"{package.name}.{modules[0].stem}")
        function = getattr(module, part.function, None)
        if function is None:
            return f"{modules[0].name} has no {part.function}"
        if not part.agrees(function):
            return f"{part.function} in {modules[0].name} differs from the reference on an example"
    except Exception as error:  # a student's code may raise anything
        return f"{part.function} in {modules[0].name} raised {type(error).__name__}: {error}"
    found.functions[part.function] = function
    # helpers of the function are in its module, so the whole file decides what it does
    source = inspect.getsource(module).encode()
    found.digests[part.function] = hashlib.sha256(source).hexdigest()
    return ""
