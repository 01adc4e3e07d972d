"""From a path to what is served: model, tokenizer, the ids that end a text, chat
template, name.

    a .gguf file    everything is inside
    a folder with config.json, weights, tokenizer
                    of one of `models.decoders`; the tokenizer as tokenizer.json, as
                    vocab.json with merges.txt, or as SentencePiece's tokenizer.model,
                    which is taken before a tokenizer.json
    no path         SmolLM2-135M-Instruct, from the cache of `corpora`

Which ids end a text is told in up to three files of a folder. generation_config.json
comes first, as in `transformers`: a chat model stops at the end of its turn there,
while config.json may know only the end of a document.

Not here: downloading (see `corpora`), the formats themselves (see `weights` and
`tokenizers`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from reference_impl import corpora
from reference_impl.corpora.fetching import check_stamps
from reference_impl.engine.embedding import Encoder
from reference_impl.generation.layout import join_projections, store_by_longer_side
from reference_impl.layers.checks import ModelInputError
from reference_impl.layers.int8 import quantize
from reference_impl.layers.tensor_parallel import Shard, split
from reference_impl.models.bert import Bert
from reference_impl.models.decoders import FAMILIES, Decoder
from reference_impl.models.llama import Llama
from reference_impl.tokenizers import tokenizer_json
from reference_impl.tokenizers.chat import render_chat
from reference_impl.tokenizers.encoding import Template
from reference_impl.tokenizers.files import load_gpt2
from reference_impl.tokenizers.gguf_tokenizer import tokenizer_from_metadata
from reference_impl.tokenizers.sentencepiece import SentencePieceTokenizer
from reference_impl.tokenizers.sentencepiece_file import CONTROL
from reference_impl.tokenizers.tokenizer import Tokenizer
from reference_impl.tokenizers.vocabulary import TokenizerError
from reference_impl.weights.gguf_files import read_gguf
from reference_impl.weights.gguf_llama import from_gguf
from reference_impl.weights.pretrained import model_types
from reference_impl.weights.shards import WeightsError, read_json

DEFAULT = "smollm2"
DEFAULT_NAME = "smollm2-135m-instruct"
DEFAULT_ENCODER, DEFAULT_ENCODER_NAME = "minilm", "all-minilm-l6-v2"
DTYPES = {
    "float32": torch.float32,
    "bfloat16": torch.bfloat16,
    "float16": torch.float16,
}


class LoadingError(ValueError):
    """What is asked for can't be served. The message names the file and the remedy."""


@dataclass(frozen=True)
class Loaded:
    """A model with all that a server needs to know about it."""

    model: Decoder
    tokenizer: Tokenizer
    eos_ids: tuple[int, ...]
    name: str
    chat_template: str | None = None
    bos_token: str = ""
    eos_token: str = ""

    def render_chat(
        self, messages: Sequence[Mapping[str, Any]], **variables: Any
    ) -> str:
        """The text that the model is to continue.

        `variables` are what else the template may ask for: tools, for example.
        """
        assert self.chat_template is not None
        return render_chat(
            self.chat_template,
            messages,
            add_generation_prompt=True,
            bos_token=self.bos_token,
            eos_token=self.eos_token,
            **variables,
        )


def load(
    path: Path | str | None = None,
    dtype: torch.dtype = torch.float32,
    device: torch.device | str = "cpu",
    int8: bool = False,
    join: bool = True,
    shard: Shard | None = None,
) -> Loaded:
    """What lies at `path`, or SmolLM2, its weights on `device`, or in eight bits on a
    CPU (see `layers.int8`).

    On a GPU projections of the same vector are joined, unless adapters are to change
    them one by one (`join=False`). With a `shard` only its slices are kept, after the
    whole was read into the host's memory. LoadingError says what is missing.
    """
    loaded = _load(path, dtype)
    if shard is not None:
        try:
            split(loaded.model, shard)
        except ModelInputError as error:
            raise LoadingError(str(error)) from error
    loaded.model.to(device)
    if int8:
        quantize(loaded.model)
    elif torch.device(device).type == "cpu":
        store_by_longer_side(loaded.model)
    elif join:
        join_projections(loaded.model)
    return loaded


def _load(path: Path | str | None, dtype: torch.dtype) -> Loaded:
    try:
        if path is None:
            check_stamps(DEFAULT)
            path = next(corpora.path(DEFAULT).glob("*.gguf"))
            return _from_gguf(path, dtype, DEFAULT_NAME)
        path = Path(path)
        if path.is_dir():
            return _from_folder(path, dtype)
        if not path.exists():
            raise LoadingError(
                f"{path} does not exist: give a .gguf file, a folder with config.json,"
                " or nothing for SmolLM2"
            )
        if path.suffix != ".gguf":
            raise LoadingError(
                f"{path} is neither a .gguf file nor a folder with config.json"
            )
        return _from_gguf(path, dtype, path.stem)
    except (WeightsError, TokenizerError, corpora.CorpusError) as error:
        raise LoadingError(str(error)) from error


def _from_gguf(path: Path, dtype: torch.dtype, name: str) -> Loaded:
    table = read_gguf(path).metadata
    tokenizer = tokenizer_from_metadata(table)
    bos, eos = (
        (
            ""
            if (id := table.get(f"tokenizer.ggml.{kind}_token_id")) is None
            else tokenizer.vocabulary.token(int(id))
        )
        for kind in ("bos", "eos")
    )
    if not eos:
        raise LoadingError(
            f"{path} has no tokenizer.ggml.eos_token_id: without an end a text never"
            " stops by itself"
        )
    return _checked(
        path,
        Loaded(
            from_gguf(Llama, path, dtype),
            tokenizer,
            (tokenizer.vocabulary.id(eos),),
            name,
            table.get("tokenizer.chat_template"),
            bos,
            eos,
        ),
    )


def _from_folder(folder: Path, dtype: torch.dtype) -> Loaded:
    if not (folder / "config.json").exists():
        raise LoadingError(f"{folder} has no config.json: is it the folder of a model?")
    config = read_json(folder / "config.json")
    kind = config.get("model_type")
    family = next(
        (one for one in FAMILIES if kind in model_types(one.config_class)), None
    )
    if family is None:
        known = ", ".join(
            name for one in FAMILIES for name in model_types(one.config_class)
        )
        raise LoadingError(
            f"{folder / 'config.json'} is of model_type {kind!r}; served are {known}"
        )
    settings = _read_if_there(folder / "tokenizer_config.json")
    tokenizer = _tokenizer(folder)
    bos, eos = (_token(settings.get(f"{name}_token")) for name in ("bos", "eos"))
    ends = _read_if_there(folder / "generation_config.json").get(
        "eos_token_id", config.get("eos_token_id")
    )
    if ends is None and eos:
        ends = tokenizer.vocabulary.id(eos)
    if ends is None:
        raise LoadingError(
            f"{folder}: neither generation_config.json, config.json nor"
            " tokenizer_config.json says which token ends a text"
        )
    ends = tuple(ends) if isinstance(ends, list) else (ends,)
    if wrong := [id for id in ends if type(id) is not int]:
        raise LoadingError(
            f"{folder}: the id {wrong[0]!r} is said to end a text: a whole number is"
            " expected"
        )
    return _checked(
        folder,
        Loaded(
            family.from_pretrained(folder, dtype=dtype),
            tokenizer,
            ends,
            folder.resolve().name,
            _chat_template(folder, settings),
            bos,
            eos,
        ),
    )


def _checked(path: Path, loaded: Loaded) -> Loaded:
    known, rows = len(loaded.tokenizer.vocabulary), loaded.model.config.vocab_size
    if known > rows:
        raise LoadingError(
            f"{path}: the tokenizer has {known} tokens, the model {rows}: they don't"
            " belong together"
        )
    if wrong := [id for id in loaded.eos_ids if not 0 <= id < known]:
        raise LoadingError(
            f"{path}: the id {wrong[0]!r} is said to end a text, and the tokenizer has"
            f" {known} tokens"
        )
    return loaded


def _read_if_there(path: Path) -> Mapping[str, Any]:
    return read_json(path) if path.exists() else {}


def _token(entry: str | Mapping[str, Any] | None) -> str:
    return entry["content"] if isinstance(entry, Mapping) else entry or ""


def _tokenizer(folder: Path) -> Tokenizer:
    if (folder / "tokenizer.json").exists() and not (
        folder / "tokenizer.model"
    ).exists():
        return tokenizer_json.load(folder / "tokenizer.json", limits=False)
    if (folder / "vocab.json").exists() and (folder / "merges.txt").exists():
        return load_gpt2(folder / "vocab.json", folder / "merges.txt")
    if (folder / "tokenizer.model").exists():
        model = SentencePieceTokenizer.load(folder / "tokenizer.model")
        control = [
            token
            for token, kind in zip(model.vocabulary, model.kinds, strict=True)
            if kind == CONTROL
        ]
        return Tokenizer(
            model,
            None,
            None,
            control,
            Template("<s>:0 A:0") if "<s>" in control else Template(),
        )
    raise LoadingError(
        f"{folder} has no tokenizer.json, no vocab.json with merges.txt, and no"
        " tokenizer.model"
    )


def _chat_template(folder: Path, settings: Mapping[str, Any]) -> str | None:
    if (folder / "chat_template.jinja").exists():
        return (folder / "chat_template.jinja").read_text(encoding="utf-8")
    template = settings.get("chat_template")
    if isinstance(template, list):  # several, each with a name
        template = next(
            (
                each.get("template")
                for each in template
                if each.get("name") == "default"
            ),
            None,
        )
    return template if isinstance(template, str) else None


def load_encoder(path: Path | str | None = None) -> Encoder:
    """A BERT for sentence vectors from a folder, or MiniLM from the cache.

    LoadingError says what is missing.
    """
    try:
        if path is None:
            check_stamps(DEFAULT_ENCODER)
            path = corpora.path(DEFAULT_ENCODER)
        return Encoder(
            Bert.from_pretrained(path),
            tokenizer_json.load(Path(path) / "tokenizer.json", limits=False),
        )
    except (WeightsError, TokenizerError, corpora.CorpusError) as error:
        raise LoadingError(str(error)) from error
