"""The text of a finished run: configuration, tokenizer, two models in 8 bits, and answers.

`course capstone --notebook` writes it into the notebook, and the checks of `the_run` read it. The
text is base85 of a zlib stream. The stream holds

    4 bytes         the length of the header
    header          JSON: format, config, tokenizer, prompt, questions, prompts, alone, together
    int8            matrices of the reinforced model, one after the other
    int8            matrices of the tuned model, minus those of the reinforced one
    float32         a scale for each row of the reinforced matrices; then the norms of both models

An entry of a matrix is its int8 times the scale of its row. Both models share the scales, so that
their small difference compresses well. Sizes are checked before anything is allocated, and nothing
in the text is executed.
"""

import base64
import json
import math
import zlib
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

FORMAT = 1
MAX_TEXT = 1_500_000  # characters
MAX_HEADER = 300_000  # bytes
MAX_PARAMETERS = 1_200_000
MAX_LENGTHS = {  # of the configuration's sizes
    "vocab_size": 4096,
    "hidden_size": 1024,
    "intermediate_size": 4096,
    "num_layers": 32,
    "num_heads": 32,
    "num_kv_heads": 32,
    "max_position_embeddings": 4096,
}
FLOATS = ("rope_theta", "rms_norm_eps")
LINE = 96  # characters of a line in the notebook, after its indentation
QUESTIONS = 20
AGAIN = "Run `course capstone --notebook` again and leave the cell as it writes it."
Weights = dict[str, Tensor]
"""A model's tensors, float32, by the names that the reference implementation gives them."""


class RunFormatError(ValueError):
    """A text that holds no run. The message says what is wrong and what to do."""

    def __init__(self, what: str):
        super().__init__(f"{what} {AGAIN}")


@dataclass(frozen=True)
class FinishedRun:
    """What the text holds. `prompt` are the ids before and after a question."""

    config: dict[str, float]
    tokens: list[str]
    merges: list[tuple[str, str]]
    prompt: tuple[list[int], list[int]]
    questions: list[str]
    prompts: list[list[int]]  # ids that the engine was given, one list for each question
    alone: list[list[int]]  # ids that it answered, one request at a time
    together: list[list[int]]  # and with sixteen requests together
    tuned: Weights
    reinforced: Weights


def shapes(config: dict[str, float]) -> dict[str, tuple[int, ...]]:
    """Every tensor of a LLaMA with a tied output layer, in the order of the text."""
    C, F = config["hidden_size"], config["intermediate_size"]
    narrow = config["num_kv_heads"] * (C // config["num_heads"])
    found = {"embedding.weight": (config["vocab_size"], C)}
    for layer in range(config["num_layers"]):
        for name, shape in {
            "attention_norm": (C,),
            "attention.query": (C, C),
            "attention.key": (narrow, C),
            "attention.value": (narrow, C),
            "attention.output": (C, C),
            "feed_forward_norm": (C,),
            "feed_forward.gate": (F, C),
            "feed_forward.up": (F, C),
            "feed_forward.down": (C, F),
        }.items():
            found[f"blocks.{layer}.{name}.weight"] = shape
    return found | {"norm.weight": (C,)}


def quantized(tuned: Weights, reinforced: Weights) -> tuple[Weights, Weights, Weights]:
    """int8 matrices of both models, and the scale of each row, by name; norms are left out."""
    ours, theirs, scales = {}, {}, {}
    for name, matrix in reinforced.items():
        if matrix.dim() == 2:
            scale = matrix.abs().amax(1, keepdim=True).clamp(min=1e-12) / 127
            scales[name] = scale
            for found, model in ((ours, reinforced), (theirs, tuned)):
                found[name] = (model[name] / scale).round().clamp(-127, 127).to(torch.int8)
    return theirs, ours, scales


def rounded(tuned: Weights, reinforced: Weights) -> tuple[Weights, Weights]:
    """Both models as they come out of the text again."""
    low_tuned, low_reinforced, scales = quantized(tuned, reinforced)
    return tuple(
        {name: low[name] * scales[name] if name in low else own[name].clone() for name in own}
        for low, own in ((low_tuned, tuned), (low_reinforced, reinforced))
    )


def pack(run: FinishedRun) -> str:
    """The text of a run, in indented lines."""
    header = {
        "format": FORMAT,
        "config": run.config,
        "tokenizer": {"tokens": run.tokens, "merges": run.merges},
        "prompt": run.prompt,
        "questions": run.questions,
        "prompts": run.prompts,
        "alone": run.alone,
        "together": run.together,
    }
    head = json.dumps(header, separators=(",", ":")).encode()
    tuned, reinforced, scales = quantized(run.tuned, run.reinforced)
    matrices = [name for name, shape in shapes(run.config).items() if len(shape) == 2]
    norms = [name for name, shape in shapes(run.config).items() if len(shape) == 1]
    low = [
        np.concatenate([one[name].flatten().numpy() for name in matrices])
        for one in (reinforced, tuned)
    ]
    floats = [scales[name].flatten() for name in matrices]
    floats += [one[name] for one in (run.tuned, run.reinforced) for name in norms]
    data = [len(head).to_bytes(4, "little"), head, low[0].tobytes()]
    data += [(low[1] - low[0]).tobytes(), torch.cat(floats).numpy().astype("<f4").tobytes()]
    text = base64.b85encode(zlib.compress(b"".join(data), 9)).decode()
    # indented, because a line that begins with % or ! looks like a command of Jupyter
    return "\n".join(f"    {text[start : start + LINE]}" for start in range(0, len(text), LINE))


def unpack(text: str) -> FinishedRun:
    """The run in a text. Raises RunFormatError."""
    if len(text) > MAX_TEXT:
        raise RunFormatError(f"The text has more than {MAX_TEXT:,} characters.")
    try:
        packed = base64.b85decode("".join(text.split()))
    except ValueError:
        raise RunFormatError("The text is no base85: a character was changed or lost.") from None
    stream = zlib.decompressobj()
    head = _header(stream, packed)
    config = _config(head)
    data = _bytes(stream, stream.unconsumed_tail, _payload_bytes(config))
    if stream.decompress(stream.unconsumed_tail, 1) or not stream.eof:
        raise RunFormatError("The compressed data do not end where the models do.")
    tuned, reinforced = _models(config, data)
    tokenizer = head["tokenizer"]
    tokens, merges = tokenizer.get("tokens"), tokenizer.get("merges")
    if not _texts(tokens) or len(tokens) != config["vocab_size"]:
        raise RunFormatError("The tokenizer has another number of tokens than the model.")
    if type(merges) is not list or not all(_texts(one) and len(one) == 2 for one in merges):
        raise RunFormatError("The tokenizer's merges are no pairs.")
    lists = [head[name] for name in ("prompt", "prompts", "alone", "together")]
    if any(not _id_lists(one, config["vocab_size"]) for one in lists) or len(lists[0]) != 2:
        raise RunFormatError("The prompts or answers are no lists of token ids.")
    if {QUESTIONS} != {len(head["questions"]), *map(len, lists[1:])}:
        raise RunFormatError(f"There are not {QUESTIONS} questions with an answer each.")
    pairs = [tuple(one) for one in merges]
    return FinishedRun(
        config, tokens, pairs, tuple(lists[0]), head["questions"], *lists[1:], tuned, reinforced
    )


def _bytes(stream, packed: bytes, count: int) -> bytes:
    """Exactly so many bytes of the stream, and never more, whatever it would expand to."""
    try:
        found = stream.decompress(packed, count)
    except zlib.error:
        raise RunFormatError("The compressed data are damaged.") from None
    if len(found) != count:
        raise RunFormatError("The compressed data end too early.")
    return found


def _header(stream, packed: bytes) -> dict:
    length = int.from_bytes(_bytes(stream, packed, 4), "little")
    if not 0 < length <= MAX_HEADER:
        raise RunFormatError(f"The header has {length:,} bytes; at most {MAX_HEADER:,} are read.")
    try:
        head = json.loads(_bytes(stream, stream.unconsumed_tail, length))
    except (ValueError, RecursionError):
        raise RunFormatError("The header is no JSON.") from None
    if type(head) is not dict or head.get("format") != FORMAT:
        raise RunFormatError(f"The text is not of format {FORMAT}, which this course reads.")
    kinds = {"config": dict, "tokenizer": dict} | dict.fromkeys(
        ("prompt", "questions", "prompts", "alone", "together"), list
    )
    wrong = [name for name, kind in kinds.items() if type(head.get(name)) is not kind]
    if wrong or not _texts(head["questions"]):
        raise RunFormatError(f"The header lacks {', '.join(wrong) or 'questions'}.")
    return head


def _config(head: dict) -> dict[str, float]:
    config = head["config"]
    for name, most in MAX_LENGTHS.items():
        if type(config.get(name)) is not int or not 1 <= config[name] <= most:
            raise RunFormatError(f"`{name}` is no int from 1 to {most:,}.")
    for name in FLOATS:
        if type(config.get(name)) is not float or not 1e-12 <= config[name] <= 1e9:
            raise RunFormatError(f"`{name}` is no float from 1e-12 to 1e9.")
    C, H, K = (config[name] for name in ("hidden_size", "num_heads", "num_kv_heads"))
    if C % (2 * H) or H % K:
        raise RunFormatError("The heads do not divide the hidden size, or the KV heads the heads.")
    parameters = sum(map(math.prod, shapes(config).values()))
    if parameters > MAX_PARAMETERS:
        raise RunFormatError(
            f"The model has {parameters:,} parameters; at most {MAX_PARAMETERS:,} are read."
        )
    return {name: config[name] for name in (*MAX_LENGTHS, *FLOATS)}


def _payload_bytes(config: dict) -> int:
    all_shapes = shapes(config).values()
    matrices = [shape for shape in all_shapes if len(shape) == 2]
    norms = sum(shape[0] for shape in all_shapes if len(shape) == 1)
    scales = sum(rows for rows, _ in matrices)
    return 2 * sum(map(math.prod, matrices)) + 4 * (scales + 2 * norms)


def _models(config: dict, data: bytes) -> tuple[Weights, Weights]:
    """The tuned and the reinforced model."""
    named = shapes(config)
    matrices = {name: shape for name, shape in named.items() if len(shape) == 2}
    norms = {name: shape for name, shape in named.items() if len(shape) == 1}
    count = sum(map(math.prod, matrices.values()))
    low = np.frombuffer(data, np.int8, 2 * count)
    floats = torch.from_numpy(np.frombuffer(data, "<f4", offset=2 * count).copy())
    if not floats.isfinite().all() or floats.abs().max() > 1e4:
        raise RunFormatError("Scales or norms are not finite, or above 10,000.")
    rows = sum(shape[0] for shape in matrices.values())
    scales, rest = floats[:rows].split([shape[0] for shape in matrices.values()]), floats[rows:]
    sizes = [math.prod(shape) for shape in matrices.values()]
    norm_sizes = [shape[0] for shape in norms.values()]
    found = []
    for entries, vectors in zip(
        (low[:count] + low[count:], low[:count]), rest.chunk(2), strict=True
    ):
        parts = torch.from_numpy(entries.astype(np.float32)).split(sizes)
        model = {
            name: part.view(shape) * scale[:, None]
            for (name, shape), part, scale in zip(matrices.items(), parts, scales, strict=True)
        }
        found.append(model | dict(zip(norms, vectors.split(norm_sizes), strict=True)))
    return found[0], found[1]


def _texts(found: object) -> bool:
    return type(found) is list and all(type(one) is str and len(one) < 300 for one in found)


def _id_lists(found: object, vocab_size: int) -> bool:
    return type(found) is list and all(
        type(ids) is list
        and len(ids) <= 300
        and all(type(one) is int and 0 <= one < vocab_size for one in ids)
        for ids in found
    )
