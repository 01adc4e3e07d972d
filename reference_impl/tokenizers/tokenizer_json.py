"""Read `tokenizer.json`, the file in which `tokenizers` keeps a whole tokenizer.

Its parts are objects with a "type", one for each step. What the steps become stands in
`json_steps.py`; here are the model, the added tokens, the post-processor, and what the
file says of truncation and padding.

Refused by default: a part, a field or a value that is not known raises TokenizerError
with its name (`strict.py`). What the file leaves to its reader is done as `tokenizers`
does it.

But: a character without a token, in a BPE model without an unknown token, is an error
here, where `tokenizers` drops it. Writing is in `tokenizer_json_writing.py`.
"""

import json
import math
from pathlib import Path
from typing import Any

import regex

from reference_impl.tokenizers.added_tokens import AddedToken
from reference_impl.tokenizers.byte_level import CHARACTER_OF, ByteLevelBPE
from reference_impl.tokenizers.encoding import SIDES, STRATEGIES, Template
from reference_impl.tokenizers.file_models import FileBPE, FileUnigram, WordLevel
from reference_impl.tokenizers.json_steps import decoder, normalizer, read, word_steps
from reference_impl.tokenizers.strict import JsonObject, shown
from reference_impl.tokenizers.tokenizer import Model, Tokenizer, Use
from reference_impl.tokenizers.tokenizer_json_writing import PRE_TOKENIZERS, save
from reference_impl.tokenizers.vocabulary import TokenizerError, Vocabulary, read_bytes
from reference_impl.tokenizers.word_cuts import ToBytes, WordCuts
from reference_impl.tokenizers.wordpiece import WordPiece

__all__ = ["load", "save"]
PADDING_NAMES = ("[PAD]", "<pad>", "<|pad|>")
NULL = type(None)
_SURROGATE = regex.compile(rb"\\u[dD][89a-fA-F]")


def load(path: str | Path, limits: bool = True) -> Tokenizer:
    """The tokenizer of a `tokenizer.json`.

    TokenizerError names the part that is missing, broken or not known.

    What the file says of truncation and padding holds while `encode` is not told
    otherwise, as in `tokenizers`; `limits=False` leaves it out, as `transformers` does.
    """
    written = read_bytes(path)
    try:
        return _tokenizer(_parsed(written), limits)
    except TokenizerError as error:
        raise TokenizerError(f"{path}: {error}") from None
    except (ValueError, RecursionError, OverflowError) as error:
        raise TokenizerError(f"{path} can't be read: {error}") from error


def _parsed(written: bytes) -> Any:
    """The value of a JSON file, as strict as the format: Python also reads NaN, and
    halves of surrogate pairs.
    """
    data = json.loads(written, object_pairs_hook=_once, parse_constant=_no_number)
    if _SURROGATE.search(written) and (
        half := regex.search("[\ud800-\udfff]", json.dumps(data, ensure_ascii=False))
    ):
        raise TokenizerError(
            f"a text in it has {half.group()!r}, half of a surrogate pair, which is no"
            " character: write the character itself"
        )
    return data


def _no_number(name: str) -> None:
    raise TokenizerError(
        f"it has {name} where a number is expected: JSON has no such number"
    )


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    data = dict(pairs)
    if len(data) != len(pairs):
        names = [name for name, _ in pairs]
        raise TokenizerError(
            f"{next(name for name in names if names.count(name) > 1)!r} stands twice in"
            " one object"
        )
    return data


def _tokenizer(data: Any, limits: bool) -> Tokenizer:
    with JsonObject(data, "tokenizer.json") as file:
        file.only("version", "1.0", default="1.0")
        added = [
            _added(token)
            for token in file.take("added_tokens", list, NULL, default=None) or ()
        ]
        model_data = file.take("model", dict)
        vocabulary = Vocabulary(_tokens(model_data, added))
        steps, known = word_steps(file.take("pre_tokenizer", default=None)), None
        pre_tokenizer = file.take("pre_tokenizer", default=None)
        if pre_tokenizer is not None:
            known = next(
                (
                    pattern
                    for pattern, names in PRE_TOKENIZERS
                    if _same(pre_tokenizer, names)
                ),
                None,
            )
        model = _model(model_data, steps, known)
        if isinstance(model, ByteLevelBPE):
            steps = steps[:-1]
        elif any(isinstance(step, ToBytes) for step in steps):
            known = (
                None  # the expression finds the words, and does not draw them as bytes
            )
        template, bare, trim, adds_space = _post_processor(
            file.take("post_processor", default=None), vocabulary
        )
        use = _use(
            file.take("truncation", dict, NULL, default=None),
            file.take("padding", dict, NULL, default=None),
            vocabulary,
        )
        special = {token.content for _, token in added if token.special}
        return Tokenizer(
            model,
            normalizer(file.take("normalizer", default=None)),
            known or (WordCuts(*steps) if steps else None),
            [token for _, token in added],
            template,
            next((token for token in PADDING_NAMES if token in special), None),
            trim,
            adds_space,
            decoder(file.take("decoder", default=None)),
            bare,
            use if limits else Use(),
            vocabulary,
        )


def _same(data: Any, known: Any) -> bool:
    """Whether two pre-tokenizers are one.

    Trimming offsets is the post-processor's work.
    """
    if isinstance(data, dict) and isinstance(known, dict):
        fields = (data.keys() | known.keys()) - {"trim_offsets"}
        return all(
            field in data and field in known and _same(data[field], known[field])
            for field in fields
        )
    if isinstance(data, list) and isinstance(known, list):
        return len(data) == len(known) and all(map(_same, data, known))
    return type(data) is type(known) and data == known


def _added(data: Any) -> tuple[int, AddedToken]:
    with JsonObject(
        data,
        "the added token"
        f" {shown(data.get('content') if isinstance(data, dict) else data)}",
    ) as part:
        flags = {
            flag: part.take(flag, bool)
            for flag in ("special", "normalized", "single_word", "lstrip", "rstrip")
        }
        return part.take("id", int), AddedToken(part.take("content", str), **flags)


def _tokens(model: dict, added: list[tuple[int, AddedToken]]) -> list[str]:
    """The model's own tokens, and after them the added tokens that it lacks."""
    vocab = model.get("vocab")
    if isinstance(vocab, list):
        if wrong := [
            entry
            for entry in vocab
            if not (
                isinstance(entry, list)
                and list(map(type, entry)) in ([str, float], [str, int])
                and math.isfinite(entry[1])
            )
        ]:
            raise TokenizerError(
                f"the vocabulary holds {shown(wrong[0])}; a token and its score are"
                " expected"
            )
        tokens = [token for token, _ in vocab]
    elif isinstance(vocab, dict) and all(type(id) is int for id in vocab.values()):
        tokens = Vocabulary(vocab).tokens
    else:
        raise TokenizerError(
            f"'vocab' of the model is {shown(vocab)}; an object from token to whole"
            " number, or a list of tokens with scores, is expected"
        )
    id_of = {token: id for id, token in enumerate(tokens)}
    if wrong := [
        (id, token.content) for id, token in added if id_of.get(token.content, id) != id
    ]:
        raise TokenizerError(
            f"the added token {wrong[0][1]!r} has the id {wrong[0][0]}, and in the"
            f" model's vocabulary {id_of[wrong[0][1]]}"
        )
    new = sorted(
        {(id, token.content) for id, token in added if token.content not in id_of}
    )
    if [id for id, _ in new] != list(range(len(tokens), len(tokens) + len(new))):
        raise TokenizerError(
            f"the added tokens have the ids {shown([id for id, _ in new])}; after a"
            f" vocabulary of {len(tokens)} tokens they must begin at {len(tokens)} and"
            " have no holes"
        )
    if len({token.content for _, token in added}) != len(added):
        raise TokenizerError("an added token stands twice in the file")
    return tokens + [token for _, token in new]


def _model(data: dict, steps: list, pattern: regex.Pattern | None) -> Model:
    """The model with its own vocabulary: added tokens are no words' tokens."""
    readers = {
        "BPE": lambda part: _bpe(part, steps, pattern),
        "WordPiece": _word_piece,
        "Unigram": _unigram,
        "WordLevel": lambda part: WordLevel(
            _vocabulary(part), part.take("unk_token", str)
        ),
    }
    if "type" not in data:  # the files of GPT-2 and RoBERTa are older than the field
        data = {
            "type": next(
                type_
                for field, type_ in (
                    ("merges", "BPE"),
                    ("max_input_chars_per_word", "WordPiece"),
                    ("unk_id", "Unigram"),
                    ("vocab", "WordLevel"),
                )
                if field in data
            ),
            **data,
        }
    return read(data, "model", readers)


def _vocabulary(part: JsonObject) -> Vocabulary:
    return Vocabulary(part.take("vocab", dict))


def _word_piece(part: JsonObject) -> WordPiece:
    return WordPiece(
        _vocabulary(part),
        part.take("unk_token", str),
        part.take("continuing_subword_prefix", str),
        part.take("max_input_chars_per_word", int),
    )


def _unigram(part: JsonObject) -> FileUnigram:
    pieces, unknown = (
        part.take("vocab", list),
        part.take("unk_id", int, NULL, default=None),
    )
    if unknown is not None and not 0 <= unknown < len(pieces):
        raise TokenizerError(
            f"'unk_id' of {part.name} is {unknown}, and it has {len(pieces)} pieces"
        )
    return FileUnigram(
        ((token, float(score)) for token, score in pieces),
        None if unknown is None else pieces[unknown][0],
        part.take("byte_fallback", bool, default=False),
    )


def _bpe(part: JsonObject, steps: list, pattern: regex.Pattern | None) -> Model:
    part.only("dropout", None, 0.0, 0, default=None)
    vocabulary, unknown = (
        _vocabulary(part),
        part.take("unk_token", str, NULL, default=None),
    )
    prefix, suffix = (
        part.take(field, str, NULL, default=None) or ""
        for field in ("continuing_subword_prefix", "end_of_word_suffix")
    )
    fuse, fallback, ignore = (
        part.take(field, bool, NULL, default=None) or False
        for field in ("fuse_unk", "byte_fallback", "ignore_merges")
    )
    merges = [_merge(merge) for merge in part.take("merges", list)]
    if (
        steps
        and isinstance(steps[-1], ToBytes)
        and not prefix
        and not suffix
        and all(character in vocabulary for character in CHARACTER_OF)
    ):
        # With a token for every byte nothing is unknown, and the words need not be
        # drawn as bytes one by one.
        return ByteLevelBPE(vocabulary, merges, pattern, ignore)
    if (prefix or suffix) and fallback:
        raise TokenizerError(
            f"{part.name} has byte_fallback and marks inside or at the end of words,"
            " which is not known here"
        )
    known = unknown is not None and unknown in vocabulary
    return FileBPE(
        vocabulary,
        merges,
        unknown if known else None,
        fuse,
        fallback,
        ignore,
        prefix,
        suffix,
    )


def _merge(merge: Any) -> tuple[str, str]:
    # Older files write a merge as one string with a space.
    parts = merge.split(" ") if isinstance(merge, str) else merge
    if (
        not isinstance(parts, list)
        or len(parts) != 2
        or not all(isinstance(part, str) for part in parts)
    ):
        raise TokenizerError(f"'merges' holds {shown(merge)}; two tokens are expected")
    return parts[0], parts[1]


def _post_processor(
    data: Any, vocabulary: Vocabulary
) -> tuple[Template, Template, bool, bool]:
    """The template, the one without special tokens, and whether offsets are trimmed,
    and whether a space was added.
    """
    template, bare, trim, adds_space = Template(), Template(), False, False
    with_template = False
    for type_, part_data in _processors(data):
        with JsonObject(part_data, f"the post_processor {type_}") as part:
            part.take("type")
            if with_template:
                raise TokenizerError(
                    f"the post_processor {type_} stands after a template, which is not"
                    " known here"
                )
            if type_ in ("ByteLevel", "RobertaProcessing"):
                own, adds = (
                    part.take("trim_offsets", bool),
                    part.take("add_prefix_space", bool),
                )
                part.take("use_regex", bool, default=True)  # the pre-tokenizer's
                if own and trim:
                    raise TokenizerError(
                        "the post_processor trims offsets twice, which is not known"
                        " here"
                    )
                trim, adds_space = trim or own, adds if own else adds_space
            if type_ == "ByteLevel":
                continue
            with_template = True
            if type_ == "TemplateProcessing":
                template = _template(part, vocabulary)
                bare = template.without_specials()
                continue
            cls, sep = (_named(part, field, vocabulary) for field in ("cls", "sep"))
            # BERT's second text is of type 1; RoBERTa knows one type, and puts two
            # signs between the texts.
            kind, between = (
                (1, ((sep, 0),))
                if type_ == "BertProcessing"
                else (0, ((sep, 0), (sep, 0)))
            )
            single = ((cls, 0), ("A", 0), (sep, 0))
            template = Template(
                single, ((cls, 0), ("A", 0), *between, ("B", kind), (sep, kind))
            )
            bare = Template(pair=(("A", 0), ("B", kind)))
    return template, bare, trim, adds_space


PROCESSORS = (
    "BertProcessing",
    "ByteLevel",
    "RobertaProcessing",
    "Sequence",
    "TemplateProcessing",
)


def _processors(data: Any) -> list[tuple[str, Any]]:
    """The post-processors in their order, sequences taken apart."""
    if data is None:
        return []
    type_ = data.get("type") if isinstance(data, dict) else None
    if type_ not in PROCESSORS:
        raise TokenizerError(
            f"the post_processor is {shown(data)}, and its type is not known here;"
            f" known are {', '.join(PROCESSORS)}"
        )
    if type_ != "Sequence":
        return [(type_, data)]
    with JsonObject(data, "the post_processor Sequence") as part:
        part.take("type")
        return [
            one for inner in part.take("processors", list) for one in _processors(inner)
        ]


def _named(part: JsonObject, field: str, vocabulary: Vocabulary) -> str:
    """A special token that a post-processor names with its id, which must be the
    vocabulary's.
    """
    named = part.take(field, list)
    if list(map(type, named)) != [str, int]:
        raise TokenizerError(
            f"{field!r} of {part.name} is {shown(named)}; a token and its id are"
            " expected"
        )
    return _checked(named[0], named[1], part, vocabulary)


def _checked(token: str, id: int, part: JsonObject, vocabulary: Vocabulary) -> str:
    if token in ("A", "B"):
        raise TokenizerError(
            f"{part.name} adds the token {token!r}, and templates here call their texts"
            " A and B: give the special token another name"
        )
    if vocabulary.id_of.get(token) != id:
        raise TokenizerError(
            f"{part.name} adds {token!r} with the id {id}; in the vocabulary it is "
            f"{vocabulary.id_of.get(token, 'not there')}"
        )
    return token


def _template(part: JsonObject, vocabulary: Vocabulary) -> Template:
    named = part.take("special_tokens", dict)

    def item(data: Any, form: str) -> tuple[str, int]:
        kind = (
            next(iter(data), None)
            if isinstance(data, dict) and len(data) == 1
            else None
        )
        if kind not in ("Sequence", "SpecialToken"):
            raise TokenizerError(
                f"{form!r} of {part.name} holds {shown(data)}; a Sequence or"
                " SpecialToken is expected"
            )
        with JsonObject(data[kind], f"the {kind} in {form!r} of {part.name}") as one:
            name, type_id = one.take("id", str), one.take("type_id", int)
        if kind == "Sequence":
            if name not in ("A", "B"):
                raise TokenizerError(
                    f"{form!r} of {part.name} names the text {name!r}; A or B is"
                    " expected"
                )
            return name, type_id
        if name not in named:
            raise TokenizerError(
                f"{form!r} of {part.name} adds {name!r}, which its special_tokens lack"
            )
        with JsonObject(
            named[name], f"the special token {name!r} of {part.name}"
        ) as token:
            token.only("id", name)
            ids, tokens = token.take("ids", list), token.take("tokens", list)
        if (
            len(ids) != 1
            or len(tokens) != 1
            or type(ids[0]) is not int
            or type(tokens[0]) is not str
        ):
            raise TokenizerError(
                f"the special token {name!r} of {part.name} stands for {shown(tokens)}"
                f" with the ids {shown(ids)}; one token is expected"
            )
        return _checked(tokens[0], ids[0], part, vocabulary), type_id

    single, pair = (
        [item(data, form) for data in part.take(form, list)]
        for form in ("single", "pair")
    )
    for form, items, texts in (("single", single, ["A"]), ("pair", pair, ["A", "B"])):
        if sorted(name for name, _ in items if name in ("A", "B")) != texts:
            raise TokenizerError(
                f"{form!r} of {part.name} must have each of {', '.join(texts)} once and"
                " no other text"
            )
    return Template(tuple(single), tuple(pair))


def _use(truncation: dict | None, padding: dict | None, vocabulary: Vocabulary) -> Use:
    """What holds while `encode` is not told otherwise."""
    cut = fill = None
    if truncation is not None:
        with JsonObject(truncation, "the truncation") as part:
            names = {
                "".join(map(str.capitalize, name.split("_"))): name
                for name in STRATEGIES
            }
            cut = {
                "max_length": part.take("max_length", int),
                "stride": part.take("stride", int),
                "truncation": names[part.only("strategy", *names)],
                "side": (
                    part.only(
                        "direction", *map(str.capitalize, SIDES), default="Right"
                    ).lower()
                ),
            }
    if padding is not None:
        with JsonObject(padding, "the padding") as part:
            strategy = part.take("strategy", str, dict)
            if strategy != "BatchLongest":
                with JsonObject(strategy, "the strategy of the padding") as fixed:
                    strategy = fixed.take("Fixed", int)
            fill = {
                "pad_token": part.take("pad_token", str),
                "pad_id": part.take("pad_id", int),
                "pad_type_id": part.take("pad_type_id", int),
                "length": None if strategy == "BatchLongest" else strategy,
                "multiple_of": (
                    part.take("pad_to_multiple_of", int, NULL, default=None) or 1
                ),
                "side": part.only("direction", *map(str.capitalize, SIDES)).lower(),
            }
            if vocabulary.id_of.get(fill["pad_token"]) != fill["pad_id"]:
                raise TokenizerError(
                    f"the padding is {fill['pad_token']!r} with the id"
                    f" {fill['pad_id']}; in the vocabulary it is"
                    f" {vocabulary.id_of.get(fill['pad_token'], 'not there')}"
                )
    return Use(cut, fill)
