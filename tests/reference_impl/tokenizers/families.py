"""The component chains of published tokenizers, built in `tokenizers` with small vocabularies of
our own.

Each function gives the chain that the family's published tokenizer.json has. The vocabularies are
trained once.
"""

import functools
import io
import json

import sentencepiece as spm
import sentencepiece.sentencepiece_model_pb2 as pb
from tokenizers import (
    AddedToken,
    Regex,
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)

from reference_impl import corpora
from reference_impl.tokenizers.file_models import byte_token
from tests.reference_impl.tokenizers.many_texts import PHRASES

LLAMA3 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|"
    r"\s*[\r\n]+|\s+(?!\S)|\s+"
)
QWEN = LLAMA3.replace("{1,3}", "")
MISTRAL = (
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|"
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|"
    r"\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|"
    r"\s*[\r\n]+|\s+(?!\S)|\s+"
)
O200K = (
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*"
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"
    r"\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
SPECIALS = (
    "[CLS]",
    "[MASK]",
    "<mask>",
    "<s>",
    "</s>",
    "<|endoftext|>",
    "<|begin_of_text|>",
    "<extra_id_1>",
    "<unk>",
    "|||EMAIL_ADDRESS|||",
    "<sep>",
    "<|im_start|>",
)
BERT_TEMPLATE = ("[CLS]:0 $A:0 [SEP]:0", "[CLS]:0 $A:0 [SEP]:0 $B:1 [SEP]:1")


@functools.cache
def corpus() -> list[str]:
    return [*corpora.load("kjv").splitlines()[:600], *PHRASES * 8]


@functools.cache
def trained(kind: str) -> dict:
    """The "model" of a small tokenizer: byte-level BPE, BPE with U+2581, or Unigram."""
    small = Tokenizer(models.Unigram() if kind == "unigram" else models.BPE())
    options = dict(vocab_size=600, show_progress=False)
    if kind == "bytes":
        small.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        trainer = trainers.BpeTrainer(
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), **options
        )
    else:
        small.pre_tokenizer = pre_tokenizers.Metaspace()
        trainer = (
            trainers.UnigramTrainer(unk_token="<unk>", special_tokens=["<unk>"], **options)
            if kind == "unigram"
            else trainers.BpeTrainer(**options)
        )
    small.train_from_iterator(corpus(), trainer)
    return json.loads(small.to_str())["model"]


def bpe(kind: str, specials: list[str], **options) -> Tokenizer:
    """A BPE tokenizer whose vocabulary begins with `specials`."""
    model = trained(kind)
    tokens = dict.fromkeys([*specials, *sorted(model["vocab"], key=model["vocab"].get)])
    vocabulary = {token: id for id, token in enumerate(tokens)}
    return Tokenizer(models.BPE(vocabulary, list(map(tuple, model["merges"])), **options))


def unigram(specials: list[str]) -> Tokenizer:
    """A Unigram tokenizer with `specials`, "<unk>" among them, before its pieces."""
    pieces = [piece for piece in map(tuple, trained("unigram")["vocab"]) if piece[0] != "<unk>"]
    model = models.Unigram(
        [(token, 0.0) for token in specials] + pieces, specials.index("<unk>"), False
    )
    tokenizer = Tokenizer(model)
    tokenizer.add_special_tokens(specials)
    return tokenizer


@functools.cache
def nmt_nfkc() -> bytes:
    """SentencePiece's table of normalisation, as T5, ALBERT and XLNet have it."""
    model = io.BytesIO()
    spm.SentencePieceTrainer.train(
        sentence_iterator=iter(["a b c"] * 9),
        model_writer=model,
        vocab_size=9,
        hard_vocab_limit=False,
        minloglevel=2,
    )
    proto = pb.ModelProto()
    proto.ParseFromString(model.getvalue())
    return proto.normalizer_spec.precompiled_charsmap


def template(
    tokenizer: Tokenizer, single: str, pair: str, names: list[str]
) -> processors.PostProcessor:
    return processors.TemplateProcessing(
        single, pair, [(name, tokenizer.token_to_id(name)) for name in names]
    )


def gpt2() -> Tokenizer:
    tokenizer = bpe("bytes", ["<|endoftext|>"])
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens(["<|endoftext|>"])
    return tokenizer


def roberta(add_prefix_space: bool = False) -> Tokenizer:
    names = ["<s>", "<pad>", "</s>", "<unk>"]
    tokenizer = bpe("bytes", names)
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=add_prefix_space)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([*names, AddedToken("<mask>", lstrip=True, normalized=False)])
    tokenizer.post_processor = processors.RobertaProcessing(
        ("</s>", 2), ("<s>", 0), trim_offsets=True, add_prefix_space=add_prefix_space
    )
    return tokenizer


def bert(lowercase: bool = True) -> Tokenizer:
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=lowercase)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    names = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    tokenizer.train_from_iterator(
        corpus(),
        trainers.WordPieceTrainer(vocab_size=600, show_progress=False, special_tokens=names),
    )
    tokenizer.post_processor = template(tokenizer, *BERT_TEMPLATE, ["[CLS]", "[SEP]"])
    return tokenizer


def albert() -> Tokenizer:
    tokenizer = unigram(["<pad>", "<unk>", "[CLS]", "[SEP]"])
    tokenizer.normalizer = normalizers.Sequence(
        [
            normalizers.Replace("``", '"'),
            normalizers.Replace("''", '"'),
            normalizers.NFKD(),
            normalizers.StripAccents(),
            normalizers.Lowercase(),
            normalizers.Precompiled(nmt_nfkc()),
        ]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()]
    )
    tokenizer.decoder = decoders.Metaspace()
    tokenizer.add_special_tokens([AddedToken("[MASK]", lstrip=True, normalized=False)])
    tokenizer.post_processor = template(tokenizer, *BERT_TEMPLATE, ["[CLS]", "[SEP]"])
    return tokenizer


def xlnet() -> Tokenizer:
    tokenizer = unigram(["<unk>", "<s>", "</s>", "<cls>", "<sep>", "<pad>"])
    tokenizer.normalizer = normalizers.Sequence(
        [
            normalizers.Replace("``", '"'),
            normalizers.Replace("''", '"'),
            normalizers.Precompiled(nmt_nfkc()),
            normalizers.Replace(Regex(" {2,}"), " "),
        ]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()]
    )
    tokenizer.decoder = decoders.Metaspace()
    tokenizer.add_special_tokens(
        [AddedToken("<mask>", lstrip=True, normalized=False), AddedToken("<eod>")]
    )
    tokenizer.post_processor = template(
        tokenizer, "$A:0 <sep>:0 <cls>:2", "$A:0 <sep>:0 $B:1 <sep>:1 <cls>:2", ["<sep>", "<cls>"]
    )
    tokenizer.enable_padding(direction="left", pad_id=5, pad_type_id=3, pad_token="<pad>")
    return tokenizer


def t5(new: bool = False) -> Tokenizer:
    tokenizer = unigram(["<pad>", "</s>", "<unk>"])
    table = normalizers.Precompiled(nmt_nfkc())
    tokenizer.normalizer = (
        table
        if not new
        else normalizers.Sequence(
            [
                table,
                normalizers.Strip(left=False, right=True),
                normalizers.Replace(Regex(" {2,}"), "\u2581"),
            ]
        )
    )
    metaspace = pre_tokenizers.Metaspace(prepend_scheme="always")
    tokenizer.pre_tokenizer = (
        metaspace if new else pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), metaspace])
    )
    tokenizer.decoder = decoders.Metaspace()
    tokenizer.add_special_tokens([f"<extra_id_{i}>" for i in range(10)])
    tokenizer.post_processor = template(tokenizer, "$A </s>", "$A </s> $B </s>", ["</s>"])
    return tokenizer


def pythia() -> Tokenizer:
    tokenizer = bpe("bytes", ["<|endoftext|>", "<|padding|>"])
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel(add_prefix_space=False)
    tokenizer.add_special_tokens(["<|endoftext|>", "<|padding|>"])
    tokenizer.add_tokens([AddedToken(" " * length, normalized=True) for length in range(24, 1, -1)])
    tokenizer.post_processor = processors.ByteLevel(add_prefix_space=False, trim_offsets=True)
    return tokenizer


def modernbert() -> Tokenizer:
    tokenizer = pythia()
    tokenizer.add_tokens(["|||EMAIL_ADDRESS|||", "|||IP_ADDRESS|||"])
    tokenizer.add_special_tokens(
        ["[UNK]", "[CLS]", "[SEP]", "[PAD]", AddedToken("[MASK]", lstrip=True)]
    )
    tokenizer.post_processor = template(tokenizer, *BERT_TEMPLATE, ["[CLS]", "[SEP]"])
    return tokenizer


def llama2(new: bool = False) -> Tokenizer:
    names = ["<unk>", "<s>", "</s>"]
    tokenizer = bpe(
        "metaspace",
        [*names, *map(byte_token, range(256))],
        unk_token="<unk>",
        fuse_unk=True,
        byte_fallback=True,
    )
    if new:
        tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first", split=False)
    else:
        tokenizer.normalizer = normalizers.Sequence(
            [normalizers.Prepend("\u2581"), normalizers.Replace(" ", "\u2581")]
        )
    tokenizer.decoder = decoders.Sequence(
        [
            decoders.Replace("\u2581", " "),
            decoders.ByteFallback(),
            decoders.Fuse(),
            decoders.Strip(" ", 1, 0),
        ]
    )
    tokenizer.add_special_tokens([AddedToken(name, normalized=False) for name in names])
    tokenizer.post_processor = template(tokenizer, "<s> $A", "<s> $A <s>:1 $B:1", ["<s>"])
    return tokenizer


def llama3(expression: str = LLAMA3) -> Tokenizer:
    # Tokens that no merge gives, which only ignore_merges finds.
    tokenizer = bpe("bytes", ["\u0120river", "lends", "\u0120money"], ignore_merges=True)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(expression), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens(["<|begin_of_text|>", "<|end_of_text|>"])
    bos = "<|begin_of_text|>"
    tokenizer.post_processor = processors.Sequence(
        [
            processors.ByteLevel(add_prefix_space=False, trim_offsets=True),
            template(tokenizer, f"{bos} $A", f"{bos} $A {bos}:1 $B:1", [bos]),
        ]
    )
    return tokenizer


def qwen() -> Tokenizer:
    tokenizer = bpe("bytes", [])
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(QWEN), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False, trim_offsets=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel(
        add_prefix_space=False, use_regex=False, trim_offsets=False
    )
    tokenizer.post_processor = processors.ByteLevel(
        add_prefix_space=False, use_regex=False, trim_offsets=False
    )
    tokenizer.add_special_tokens(["<|endoftext|>", "<|im_start|>", "<|im_end|>"])
    return tokenizer


def gpt_oss() -> Tokenizer:
    tokenizer = bpe("bytes", ["\u0120river", "lends"], ignore_merges=True)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(O200K), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)
    tokenizer.add_special_tokens(["<|endoftext|>", "<|start|>", "<|message|>", "<|return|>"])
    return tokenizer


FAMILIES = {
    "gpt2": gpt2,
    "bert": bert,
    "bert-cased": lambda: bert(False),
    "roberta": roberta,
    "roberta-prefix": lambda: roberta(True),
    "albert": albert,
    "xlnet": xlnet,
    "t5": t5,
    "t5-new": lambda: t5(True),
    "modernbert": modernbert,
    "llama1-2": llama2,
    "llama2-new": lambda: llama2(True),
    "llama3": llama3,
    "mistral-nemo": lambda: llama3(MISTRAL),
    "qwen": qwen,
    "gpt-oss": gpt_oss,
    "pythia": pythia,
}
"""LLaMA 1 and 2 and Mistral 7B share one chain."""
