"""Small data for every figure, for the tests that draw them.

`nearest` and `two_readers` ask torch.
"""

import torch

from course.book.pages.figure_data import adapted, encoders, letters, readings
from course.book.pages.figure_data.bank_plane import bank_moves
from course.book.pages.models import page_model, page_vocabulary
from course.book.pages.records import record
from course.book.review import repetition
from reference_impl.corpora import rules
from reference_impl.corpora.small_models import small_model
from reference_impl.layers.masks import window_mask
from reference_impl.measure import roofline
from reference_impl.measure.flops import count_parameters
from reference_impl.models.bert import Bert, BertConfig, BertForPreTraining
from reference_impl.models.gpt import GPT, GPTConfig
from reference_impl.objectives.permutation import visible
from reference_impl.weights.nf4 import levels as nf4_levels

SENTENCES = [
    ["we", "sat", "on", "the", "bank", "of", "the", "river"],
    ["the", "bank", "lends", "money"],
]


def _rows(mask: torch.Tensor) -> list[str]:
    """A mask as rows of ones and zeros."""
    return ["".join(str(int(seen)) for seen in row) for row in mask.tolist()]


def _weights(tokens: int, aims: dict[int, int]) -> list[list[float]]:
    """Rows of attention weights: 0.9 on what a token aims at, the token before unless `aims` says
    otherwise, and 0.1 on itself.
    """
    rows = torch.eye(tokens)
    for token in range(1, tokens):
        rows[token, token] = 0.1
        rows[token, aims.get(token, token - 1)] = 0.9
    return [[round(weight, 1) for weight in row] for row in rows.tolist()]


def _visible(order: list[int]) -> list[str]:
    """Who sees whom when places are said in this order, by the objective."""
    turns = torch.tensor(order).argsort()[None]
    return _rows(visible(turns, torch.ones_like(turns, dtype=torch.bool))[0])


WORDS = list(dict.fromkeys(word for tokens in SENTENCES for word in tokens))
DATA = {
    "window-counts": {"sentences": SENTENCES, "vocabulary": WORDS, "window": 2},
    "skipgram-training": {
        "words": ["bank", "river", "money"],
        "groups": ["both", "water", "finance"],
        "snapshots": [
            {
                "step": 1000 * k,
                "loss": 4 - k,
                "positions": [[k, 0], [0, k], [1, 2]],
                "center": "bank",
                "contexts": ["river"],
                "negatives": ["money", "seven"],
            }
            for k in range(4)
        ],
    },
    "bank-neighbours": {
        "words": ["bank", "light"],
        "senses": {"bank": ["river", "money"], "light": ["bright"]},
        "methods": [{"key": "svd", "label": "Counts + SVD"}, {"key": "glove", "label": "GloVe"}],
        "neighbours": {
            "bank": {
                "svd": [
                    {"word": "shore", "cosine": 0.7, "sense": "river"},
                    {"word": "loan", "cosine": 0.6, "sense": "money"},
                ],
                "glove": [{"word": "banks", "cosine": 0.8, "sense": "other"}],
            },
            "light": {"svd": [{"word": "lamp", "cosine": 0.5, "sense": "bright"}]},
        },
    },
}


def nearest(text: str, most: int = 8) -> list[dict]:
    """The words nearest to a mixture, computed by torch from the kept vectors."""
    vectors = small_model("skipgram_glosses").model
    parts = [(word.lstrip("-"), -1 if word.startswith("-") else 1) for word in text.split()]
    mixed = sum(sign * vectors.unit[vectors.index[word]] for word, sign in parts)
    cosines = vectors.unit @ mixed / mixed.norm()  # (V,)
    for word, _ in parts:
        cosines[vectors.index[word]] = -1
    best = cosines.topk(most)
    found = zip(best.indices.tolist(), best.values.tolist(), strict=True)
    return [{"word": vectors.words[i], "cosine": cosine} for i, cosine in found]


DATA["word-mixtures"] = {
    "model": page_model("skipgram_glosses"),
    "examples": [
        {"text": text, "nearest": nearest(text)} for text in ("bank", "bank river", "bank -money")
    ],
}

DATA |= {
    "softmax-bars": {
        "words": ["river", "road", "loan"],
        "scores": [1.0, 0.5, 0.0],
        "at": 2,
        "task": "Give loan half of the probability.",
    },
    "probe-ratio": {
        "first": "ice",
        "second": "steam",
        "probes": [
            {"word": "solid", "first": 190, "second": 22, "ratio": 8.9},
            {"word": "gas", "first": 66, "second": 780, "ratio": 0.085},
            {"word": "water", "first": 3000, "second": 2200, "ratio": 1.36},
        ],
        "task": "Where does water lie?",
    },
    "character-ngrams": {
        "least": 3,
        "most": 6,
        "pairs": [["riverbanks", "riverbank"], ["paris", "parish"]],
        "task": "Find two words that share n-grams.",
    },
    "rank-lines": {
        "pairs": [
            {"name": "tiger, cat", "people": 7.4, "cosines": {"svd": 0.6, "glove": 0.2}},
            {"name": "cup, coffee", "people": 6.6, "cosines": {"svd": 0.4, "glove": 0.5}},
            {"name": "king, cabbage", "people": 0.2, "cosines": {"svd": 0.1, "glove": 0.3}},
        ],
        "tables": [{"key": "svd", "label": "SVD"}, {"key": "glove", "label": "GloVe"}],
        "task": "Which pair is ranked most differently?",
    },
    "association-dots": {
        "left": "female words",
        "right": "male words",
        "groups": ["mathematics", "arts"],
        "tables": [
            {
                "key": key,
                "label": key,
                "words": [
                    {"word": "algebra", "group": "mathematics", "value": 0.1 * k},
                    {"word": "geometry", "group": "mathematics", "value": 0.06},
                    {"word": "poetry", "group": "arts", "value": -0.02 * k},
                    {"word": "dance", "group": "arts", "value": -0.04},
                ],
            }
            for k, key in enumerate(["GloVe", "skip-gram"], 1)
        ],
        "task": "Choose a word.",
    },
}

TINY_BPE = [
    {"parts": ["b", "a", "n"], "ranks": [7, 3], "at": 1},
    {"parts": ["b", "an"], "ranks": [5], "at": 0},
    {"parts": ["ban"], "ranks": [], "at": -1},
]
DATA |= {
    "text-cuts": {
        "plain": True,
        "texts": [
            {
                "text": "the bank",
                "label": "bank",
                "cuts": {"gpt2": ["the", "Ġbank"], "bert": ["the", "bank"]},
            },
            {"text": "🏦", "cuts": {"gpt2": ["ðŁ", "ı", "¦"], "bert": ["[UNK]"]}},
        ],
        "vocabularies": [
            {"key": key, "label": key, "vocabulary": page_vocabulary(key)}
            for key in ("gpt2", "bert")
        ],
    },
    "bpe-training": {
        "words": [
            {"word": "bank", "count": 3},
            {"word": "tank", "count": 2},
            {"word": "bay", "count": 4},
        ],
        "merges": 6,
    },
    "bpe-encoding": {
        "examples": [
            {"text": "ban", "words": [TINY_BPE]},
            {"text": " ban", "words": [TINY_BPE[1:]]},
        ],
        "vocabularies": [{"key": "gpt2", "label": "GPT-2", "vocabulary": page_vocabulary("gpt2")}],
    },
    "longest-match": {
        "examples": [
            {
                "word": "banks",
                "tries": [
                    {"start": 0, "end": 5, "piece": "banks", "id": None},
                    {"start": 0, "end": 4, "piece": "bank", "id": 1},
                    {"start": 4, "end": 5, "piece": "##s", "id": 2},
                ],
            },
            {"word": "bank", "tries": [{"start": 0, "end": 4, "piece": "bank", "id": 1}]},
        ],
        "vocabularies": [{"key": "bert", "label": "BERT", "vocabulary": page_vocabulary("bert")}],
    },
    "unigram-lattice": {
        "pieces": [
            {
                "key": "hand",
                "label": "five",
                "mark": "",
                "words": ["banks"],
                "pieces": "ban 3 bank 4 ks 4 s 5 k 5",
            },
            {
                "key": "more",
                "label": "more",
                "mark": "▁",
                "words": ["ban"],
                "pieces": "▁ 4 ▁ban 6 b 5 a 5 n 5 an 6",
            },
        ]
    },
    "model-input": {"first": list("abcdefg"), "second": list("xyz"), "length": 10, "batch": 12},
    "dropout-cuts": {
        "rates": [0, 0.5],
        "words": [
            {
                "word": " bank",
                "found": [
                    [{"cut": ["Ġbank"], "part": 1}],
                    [
                        {"cut": ["Ġ", "bank"], "part": 0.6},
                        {"cut": ["Ġb", "ank"], "part": 0.3},
                        {"cut": ["Ġba", "nk"], "part": 0.1},
                    ],
                ],
            },
            {
                "word": "us",
                "found": [[{"cut": ["us"], "part": 1}], [{"cut": ["u", "s"], "part": 0.5}]],
            },
        ],
        "task": "Raise the dropout rate.",
    },
    "byte-patches": {
        "texts": [
            {"label": "verse", "bytes": list("the␣bank"), "entropies": [4, 1, 0.5, 0, 3, 2, 1, 0]},
            {"label": "name", "bytes": list("Xerxes"), "entropies": [5, 4, 4, 3, 3, 1]},
        ],
        "threshold": 1.5,
        "most": 5,
        "task": "Lower the threshold until every byte is a patch.",
    },
    "token-price": {
        "counters": [{"key": "gpt2", "label": "GPT-2"}, {"key": "bytes", "label": "bytes"}],
        "languages": [
            {"name": "English", "text": "All", "counts": {"gpt2": 10, "bytes": 30}, "lost": {}},
            {
                "name": "Hindi",
                "text": "सभी",
                "counts": {"gpt2": 90, "bytes": 80},
                "lost": {"gpt2": 2},
            },
            {"name": "Thai", "text": "มนุษย์", "counts": {"gpt2": 80, "bytes": 70}, "lost": {}},
        ],
    },
}

CORPUS = [
    line.split()
    for line in (
        "the bank lends money .",
        "the bank keeps money safe .",
        "we sat on the bank of the river .",
        "the river floods the bank .",
    )
]
READERS = {"ngram": "ngram_kjv", "lstm": "lstm_kjv"}


def spoken(word: str) -> dict:
    """The sounds of a word and the weights of each on its letters, computed by torch."""
    speller = small_model("lstm_spelling")
    source, target = speller.tokenizer["source"], speller.tokenizer["target"]
    ids = torch.tensor([[source.index(letter) for letter in word] + [1]])
    written, looks = speller.model.write(ids, start_id=0, end_id=1, max_tokens=32)
    return {
        "word": word,
        "said": [target[id] for id in written[0]],
        "looks": looks[0, : len(written[0])].tolist(),
    }


DATA |= {
    "next-word-shares": {
        "sentences": CORPUS,
        "examples": ["the bank lends money .", "the river lends money safe bank"],
    },
    "text-judged": {
        "models": [
            {"key": key, "label": key, "model": page_model(name)} for key, name in READERS.items()
        ],
        "examples": readings.judged(READERS, ["The bank lends", "In the beginning"]),
    },
    "rnn-unrolled": {
        "task": "Find the largest weight at which the gradient fades.",
        "words": ["we", "sat", "on", "the", "bank"],
        "input": 0.5,
        "weight": 1.0,
        "most": 2.5,
    },
    "lstm-cell": {
        "task": "Keep the cell state.",
        "start": -1,
        "candidate": 0.5,
        "weight": 1,
        "most": 12,
        "gates": {"forget": 0.75, "input": 0.5, "output": 0.5},
    },
    "scan-rounds": {
        "task": "Count the rounds.",
        "decay": [0.5] * 8,
        "added": [8, 0, 0, 4, 0, 0, 0, 16],
    },
    "lstm-gates": {
        "model": page_model("lstm_kjv"),
        "examples": readings.gates("lstm_kjv", ["The bank", "In the beginning"]),
    },
    "spelling-looks": {
        "model": page_model("lstm_spelling"),
        "examples": [spoken("bank"), spoken("river")],
    },
}

READ = [
    ("river, money", ("we sat on the bank of the river", "the bank lends money")),
    ("from the left", ("the bank lends money", "the bank is closed")),
]
PLANES = [
    [
        {"centre": [0.5] * 96, "axes": [[float(i == axis) for i in range(96)] for axis in (3, 40)]}
        for _ in range(2)
    ]
    for _ in range(3)
]


@torch.no_grad()
def two_readers(texts: tuple[str, str], word: str = "bank") -> dict:
    """The cosines of a word's two vectors by layer and half, and their places in the planes,
    computed by torch.
    """
    elmo = small_model("elmo_glosses")
    pairs = [
        elmo.model.layers(*elmo.tokenizer([text.split()]))[
            :, 0, text.split().index(word)
        ].unflatten(-1, (2, -1))
        for text in texts
    ]
    cosines = torch.cosine_similarity(*pairs, dim=-1)
    spots = [
        [
            [
                [
                    float(one[layer, half] @ torch.tensor(axis) - 0.5)
                    for axis in PLANES[layer][half]["axes"]
                ]
                for one in pairs
            ]
            for half in range(2)
        ]
        for layer in range(3)
    ]
    return {"texts": list(texts), "word": word, "cosines": cosines.tolist(), "spots": spots}


USES = [
    {"sense": sense, "points": [[[x, -x / 2], [-x, x]] for _ in range(3)]}
    for sense, x in (("river", 1.0), ("money", -0.7), ("other", 0.2))
]
SEEN = {
    key: [
        {"label": "letters", "name": "layer 0", "step": 0, "seen": [[t] for t in range(3)]},
        {"label": "1 →", "name": "layer 1, from the left", "step": 1, "seen": seen},
        {
            "label": "1 ←",
            "name": "layer 1, from the right",
            "step": -1,
            "seen": [[0, 1, 2], [1, 2], [2]],
        },
    ]
    for key, seen in (("apart", [[0], [0, 1], [0, 1, 2]]), ("joined", [[0, 1, 2]] * 3))
}
DATA |= {
    "two-readers": {
        "model": page_model("elmo_glosses"),
        "word": "bank",
        "layer": 2,
        "uses": USES,
        "planes": PLANES,
        "examples": [{"label": label, **two_readers(texts)} for label, texts in READ],
    },
    "seen-by-layer": {
        "words": ["the", "bank", "lends"],
        "place": 1,
        "readers": [
            {"key": key, "label": key, "columns": columns} for key, columns in SEEN.items()
        ],
    },
}

DATA["qkv-flow"] = {
    "words": ["sat", "bank", "river"],
    "at": 1,
    "task": "Turn the query of bank until it attends most to itself.",
    "size": 4,
    "query": [1.5, 1.5],
    "keys": [[0, 0], [1, 0], [1, 1]],
    "values": [[0, 8], [4, 4], [8, 0]],
}
DATA["head-split"] = {
    "words": ["sat", "bank", "river"],
    "at": 1,
    "task": "Raise the number of heads. What changes, and what does not?",
    "query": [1.5, -0.5, 2, 1],
    "keys": [[0, 1, 1, 0], [1, 0, -1, 2], [0.5, 2, 0, 1]],
    "counts": [1, 2, 4],
    "heads": 2,
}
DATA["attention-plane"] = {
    "words": ["sat", "the", "bank"],
    "at": 1,
    "task": "Turn the query.",
    "size": 4,
    "query": [1.5, 1.5],
    "keys": [[0, 0], [1, 0], [1, 1]],
    "values": [[0, 8], [0, 0], [8, 0]],
    "drawn": [[0.5, -1.0, 2.0], [1.0, 1.0, -0.5], [0.0, 2.0, 1.5], [-1.0, 0.5, 1.0]],
}
DATA["score-by-position"] = {
    "task": "Align the curves at their query: which coincide?",
    "kinds": [{"key": "learned", "label": "learned"}, {"key": "ALiBi", "label": "ALiBi"}],
    "queries": [1, 3, 5],
    "scores": {
        "learned": [
            [[h + (q * key) % 5 / 2 for key in range(q + 1)] for q in (1, 3, 5)] for h in range(2)
        ],
        "ALiBi": [[[-(q - key) / 2**h for key in range(q + 1)] for q in (1, 3, 5)] for h in (1, 2)],
    },
    "explained": {"learned": 0.25, "ALiBi": 1.0},
}
DATA["two-clocks"] = {
    "task": "Move one word, then both together.",
    "words": ["bank", "river"],
    "query": [1, 2],
    "key": [2, 1],
    "places": [3, 1],
    "most": 6,
    "speeds": [
        {"key": "quarter", "label": "90°", "degrees": 90},
        {"key": "slow", "label": "10°", "degrees": 10},
    ],
}
MAPS = [
    [
        [[float(q == k) * 2 + layer - head * k / 2 for k in range(3)] for q in range(3)]
        for head in range(2)
    ]
    for layer in range(3)
]
SMALL = [
    {
        "key": "bert",
        "label": "BERT",
        "before": "[CLS] ",
        "after": " [SEP]",
        "model": page_model("bert_kjv"),
    },
    {"key": "gpt", "label": "GPT", "model": page_model("gpt_kjv")},
]
DATA["attention-maps"] = {
    "layer": 1,
    "head": 1,
    "task": "Find a head.",
    "recorded": "MiniLM",
    "models": SMALL,
    "examples": [
        {"label": label, "tokens": tokens, "at": 1, "scores": MAPS}
        for label, tokens in (("one", ["the", "bank", "lends"]), ("two", ["a", "bank", "opens"]))
    ],
}

DATA |= {
    "block-sizes": {
        "task": "Count FLOPs.",
        "examples": [
            {
                "label": "by hand",
                "tokens": 3,
                "heads": 2,
                "size": 2,
                "times": 2,
                "norm": "after",
                "parameters": 172,
                "flops": 912,
            },
            {
                "label": "wide",
                "tokens": 8,
                "heads": 4,
                "size": 4,
                "times": 4,
                "norm": "before",
                "parameters": 3280,
                "flops": 53248,
            },
        ],
    },
    "three-attentions": {
        "task": "Find a head.",
        "model": page_model("transformer_spelling"),
        "examples": encoders.spelled("transformer_spelling", ["bank", "river"]),
    },
}
DATA |= {
    "residual-stream": {
        "task": "Step through the block.",
        "words": ["the", "bank", "lends", "money"],
        "at": 1,
        "weights": [0.1, 0.2, 0.4, 0.3],
    },
    "encoder-decoder": {
        "task": "Write the sounds.",
        "source": ["a", "b", "end"],
        "target": ["start", "A", "B"],
        "written": ["A", "B", "end"],
        "reads": [[0.2, 0.3, 0.5]] * 3,
        "writes": [[1, 0, 0], [0.5, 0.5, 0], [0.2, 0.3, 0.5]],
        "backs": [[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.1, 0.2, 0.7]],
    },
    "induction-heads": {
        "task": "Step into the second line.",
        "tokens": ["sun", "sea", "sky", "sun", "sea", "sky"],
        "half": 3,
        "heads": [
            {"key": "1", "label": "layer 1, head 1", "weights": _weights(6, {})},
            {"key": "2", "label": "layer 2, head 3", "weights": _weights(6, {3: 1, 4: 2, 5: 3})},
        ],
        "next": [{"token": token, "share": 0.9} for token in ("sun", "sun", "sea", "sea", "sky")],
        "right": [0.1, 0.2, 0.3, 0.9, 0.9],
    },
}
PLACED = [id % 500 for id in range(3, 7 * 448, 7)]
DATA["position-kinds"] = {
    "task": "Move the text further from the beginning.",
    "model": page_model("positions_kjv"),
    "kinds": [
        {"key": kind, "label": kind}
        for kind in ("none", "learned", "sinusoidal", "T5", "ALiBi", "RoPE")
    ],
    "before": PLACED,
    "shifts": [0, 64, 448],
    "examples": readings.placed(
        "positions_kjv", PLACED, ["The bank", "the river is deep"], (0, 64, 448)
    ),
}

DATA["input-sum"] = {
    "texts": [["the", "bank", "of"], ["bank", "lend", "##s"]],
    "at": "0.1",
    "most": 2.0,
    "word": {
        piece: [n / 4, 1 - n, 0.5]
        for n, piece in enumerate(["[CLS]", "[SEP]", "the", "bank", "of", "lend", "##s"])
    },
    "position": [[0.1 * n, -0.2, 0.3 * n] for n in range(9)],
    "segment": [[0.5, 0.5, -1.0], [-0.5, 0.25, 1.0]],
}
DATA["mask-draws"] = {
    "texts": [
        {"label": "one", "tokens": ["[CLS]", *"abcdefghij", "[SEP]"]},
        {"label": "two", "tokens": ["[CLS]", "a", "[SEP]"]},
    ],
    "others": ["x", "y"],
    "share": 0.25,
    "masked": 0.8,
    "replaced": 0.1,
    "vocabularies": [{"key": "bert", "label": "BERT", "vocabulary": page_vocabulary("bert")}],
}
HEAD_TOKENS = ["[CLS]", "anna", "sat", "[SEP]"]
DATA["task-heads"] = {
    "most": 1.0,
    "tasks": [
        {
            "key": key,
            "label": key,
            "tokens": HEAD_TOKENS,
            "vectors": [[0.1 * n, -0.5, 1.0] for n in range(4)],
            "heads": heads,
            "why": [f"says {key} of {token}" for token in HEAD_TOKENS],
        }
        for key, heads in (
            ("sentence", [{"label": "Pooler", "out": "2 logits", "rows": [0]}]),
            (
                "tags",
                [
                    {"label": token, "out": "5 logits", "rows": [n]}
                    for n, token in ((0, "a"), (1, "anna"), (2, "sat"))
                ],
            ),
            (
                "span",
                [{"label": name, "out": "1 number", "rows": [1, 2]} for name in ("start", "end")],
            ),
        )
    ],
}
DATA["tuned-runs"] = {
    "every": 6,
    "start": {"rate": 0},
    "levels": [
        {"label": "head alone", "mean": 0.7, "half": 0.04},
        {"label": "larger class", "mean": 0.5, "half": 0},
    ],
    "groups": [
        {
            "key": key,
            "label": key,
            "settings": [
                {
                    "label": label,
                    "loss": [[0.7, low], [0.69, low + 0.05]],
                    "accuracy": [1 - low, 0.9 - low],
                }
                for label, low in (("small", 0.6), ("fine", 0.2), ("large", 0.55))
            ],
        }
        for key in ("rate", "epochs")
    ],
}
PAIRS = [
    {
        "first": ["the", "bank", "lends"],
        "second": ["the", "bank", "asks"],
        "label": 0,
        "overlap": 0.5,
        "says": 0,
    },
    {"first": ["a", "river"], "second": ["light", "fell"], "label": 0, "overlap": 0.0, "says": 1},
    {"first": ["we", "sat"], "second": ["money", "sat"], "label": 1, "overlap": 0.2, "says": 0},
]
DATA["pair-guess"] = {
    "tasks": [
        {"key": "next", "label": "next", "yes": "follows", "no": "from elsewhere", "pairs": PAIRS},
        {
            "key": "order",
            "label": "order",
            "yes": "as written",
            "no": "exchanged",
            "pairs": PAIRS[:2],
        },
    ]
}


def bert_size(label: str, **sizes: int) -> dict:
    """A BERT's sizes and its counts, by torch on the meta device."""
    config = BertConfig(
        vocab_size=sizes["words"],
        max_position_embeddings=sizes["positions"],
        hidden_size=sizes["width"],
        num_layers=sizes["layers"],
        num_heads=sizes["heads"],
        intermediate_size=sizes["times"] * sizes["width"],
    )
    with torch.device("meta"):
        encoder, whole = (count_parameters(make(config)) for make in (Bert, BertForPreTraining))
    return {"label": label, "segments": 2, **sizes, "parameters": encoder, "added": whole - encoder}


DATA |= {
    "encoder-sizes": {
        "examples": [
            bert_size("by hand", words=10, positions=4, width=4, layers=1, heads=2, times=2),
            bert_size("base", words=30522, positions=512, width=768, layers=12, heads=12, times=4),
            bert_size(
                "large", words=30522, positions=512, width=1024, layers=24, heads=16, times=4
            ),
        ]
    },
    "filled-blanks": {
        "model": page_model("bert_kjv"),
        "mask": "[MASK]",
        "examples": encoders.filled(
            "bert_kjv",
            ["and the lord said unto [MASK], speak", "we sat on the [MASK] of the river"],
        ),
    },
    "training-stages": {
        "curve": [[100, 5.5], [200, 4.5], [300, 4.0]],
        "other": {"label": "random", "points": [[100, 5.9], [200, 5.8]]},
        "levels": [{"label": "unigram", "nats": 5.8}, {"label": "bigram", "nats": 4.2}],
        "stages": [
            {
                "step": step,
                "nats": nats,
                "filled": [
                    {"text": text, "fillings": [[word, step / 1000], ["lord", 0.1]]}
                    for text, word in (("the [MASK] said", "king"), ("a [MASK]", "man"))
                ],
            }
            for step, nats in ((0, 6.0), (200, 4.5), (300, 4.0))
        ],
    },
    "sparse-patterns": {
        "tokens": list("abcdefgh"),
        "windows": [_rows(window_mask(8, before=side, after=side)) for side in range(8)],
        "random": [
            ["00000000"] * 8,
            [
                "00000000",
                "00010000",
                "00001000",
                "00000010",
                "01000000",
                "01000000",
                "00100000",
                "00000000",
            ],
        ],
        "presets": [
            {"key": "window", "label": "window", "side": 2, "random": 0, "global": []},
            {"key": "global", "label": "with a", "side": 2, "random": 0, "global": [0]},
        ],
    },
    "span-cuts": {
        "texts": [
            {"label": "a", "tokens": SENTENCES[0] + SENTENCES[1]},
            {"label": "b", "tokens": list("abcdefghijklmnopqrst")},
        ],
        "share": 0.15,
        "span": 3,
        "seed": 1,
        "whole": "whole",
    },
    "spoken-order": {
        "tokens": SENTENCES[1],
        "orders": [
            {"key": key, "label": key, "order": order, "visible": _visible(order)}
            for key, order in (("left", [0, 1, 2, 3]), ("mixed", [2, 0, 3, 1]))
        ],
    },
}
DATA["asked-again"] = {
    "texts": [
        {"label": "one", "tokens": list("abcdefghijklmnopqrst")},
        {"label": "two", "tokens": list("abc")},
    ],
    "share": 0.15,
    "copies": 3,
    "most": 8,
}
DATA["shared-blocks"] = {
    "task": "Switch both changes on.",
    "vocabulary": 100,
    "positions": 8,
    "width": 16,
    "narrow": 4,
    "layers": 3,
    "block": 3200,
}
DATA["distance-rows"] = {
    "task": "Select a query and a key.",
    "tokens": ["we", "sat", "here"],
    "most": 2,
    "span": 2,
    "rows": {"1": [[1, 0, 0], [1, 1, 0], [1, 1, 1]], "2": [[2, 1, 0], [3, 2, 1], [3, 3, 2]]},
}
DATA["soft-targets"] = {
    "examples": [
        {
            "text": "by hand",
            "names": {str(n): name for n, name in enumerate("abc")},
            "teacher": [1.386294, 0.0, 0.0],
            "student": [0.0, 1.386294, 0.0],
        },
        {
            "text": "more",
            "names": {str(n): f"word {n}" for n in range(8)},
            "teacher": [4.0 - 0.5 * n for n in range(12)],
            "student": [1.0, 3.0, *([0.5] * 10)],
        },
    ]
}
DATA["suspicion"] = {
    "model": page_model("electra_kjv_stages"),
    "tries": ["river", "king"],
    "examples": encoders.suspected(
        "electra_kjv_stages", ["and the lord said unto moses", "and the river said unto moses"]
    ),
}

RANKED = {
    "texts": ["shore", "lender", "tune"],
    "methods": [
        {"key": "mean", "label": "mean", "ndcg": 0.9},
        {"key": "cls", "label": "[CLS]", "ndcg": 0.5},
    ],
}
DATA["ranked-texts"] = {
    "sets": [
        {
            **RANKED,
            "key": "words",
            "label": "three words",
            "ask": "Definition",
            "queries": [
                {
                    "text": "sloping land",
                    "right": [0],
                    "first": {"mean": [[0, 0.9], [2, 0.2]], "cls": [[1, 0.8], [0, 0.7]]},
                    "ndcg": {"mean": 1, "cls": 0.63},
                    "rank": {"mean": 1, "cls": 2},
                },
                {
                    "text": "one who gives credit",
                    "right": [1, 2],
                    "first": {"mean": [[1, 0.8], [0, 0.1]], "cls": [[0, 0.8], [2, 0.7]]},
                    "ndcg": {"mean": 0.6, "cls": 0.39},
                    "rank": {"mean": 1, "cls": 2},
                },
            ],
        },
        {
            **RANKED,
            "key": "near",
            "label": "near a text",
            "ask": "Text",
            "methods": [{"key": "mean", "label": "mean", "ndcg": None}],
            "queries": [
                {
                    "text": "shore",
                    "right": [],
                    "first": {"mean": [[1, 0.3], [2, 0.1]]},
                    "ndcg": {},
                    "rank": {},
                }
            ],
        },
    ]
}
DATA["packed-rows"] = {
    "longest": 12,
    "examples": [
        {
            "label": "two",
            "texts": ["the bank lends", "a bank"],
            "tokens": [["[CLS]", "the", "bank", "lends", "[SEP]"], ["[CLS]", "a", "bank", "[SEP]"]],
            "bank": {"kept": 0.7, "positions": 0.6, "gone": 0.9, "both": 0.8},
        },
        {
            "label": "three",
            "texts": ["x y", "u v w", "z"],
            "tokens": [list("axyb"), list("auvwb"), list("azb")],
            "bank": {"kept": 0.5, "positions": 0.4, "gone": 0.3, "both": 0.2},
        },
    ],
}
ASKED = [
    "def lend(money): return money",
    "def river_bank(side): return side + 1",
    "def open_file(name): return open(name)",
]
DATA["asked-texts"] = {
    "model": page_model("finder"),
    "width": 128,
    "longest": 32,
    "sets": [
        {
            "key": key,
            "label": key,
            "texts": texts,
            "asks": (asks := [f"{key} which bank lends money", "open a file by name"]),
            **encoders.asked("finder", texts, asks, 32, 80),
        }
        for key, texts in (("code", ASKED), ("text", ASKED[:2]))
    ],
}
DATA["tags-by-hand"] = {
    "kinds": ["PER", "ORG"],
    "sentences": [
        {
            "label": "one",
            "words": ["anna", "weber", "asked", "hall", "bank"],
            "true": ["B-PER", "I-PER", "O", "B-ORG", "I-ORG"],
            "said": [
                {"label": "start", "tags": ["B-PER", "O", "O", "B-ORG", "I-ORG"]},
                {"label": "all O", "tags": ["O"] * 5},
            ],
        },
        {
            "label": "two",
            "words": ["it", "rains"],
            "true": ["O", "O"],
            "said": [{"label": "start", "tags": ["O", "I-ORG"]}],
        },
    ],
}
DATA["span-sums"] = {
    "longest": 15,
    "questions": [
        {
            "label": "by hand",
            "question": "",
            "tokens": list("abcde"),
            "inside": [True] * 5,
            "start": [1, 2, 6, 3, 1],
            "end": [0, 5, 1, 4, 2],
            "answer": "",
        },
        {
            "label": "asked",
            "question": "who [SEP] the bank lend ##s",
            "tokens": ["who", "[SEP]", "the", "bank", "lend", "##s"],
            "inside": [False, False, True, True, True, True],
            "start": [9.5, 0.25, 3.5, 2, 1, -4.5],
            "end": [8, 0.5, -1.5, 4.5, -2, 3],
            "answer": "the bank",
        },
    ],
}
WAYS = [
    {"key": "plain", "label": "plain", "knobs": {}},
    {"key": "top-p", "label": "top-p 0.9", "knobs": {"topP": 0.9}},
]
DATA["writing-loop"] = {
    "model": page_model("gpt_kjv"),
    "examples": readings.turns("gpt_kjv", ["The bank lends", "In the beginning"], count=4),
}
DATA["bent-shares"] = {
    "model": page_model("gpt_kjv"),
    "tokens": [small_model("gpt_kjv").tokenizer.decode([token]) for token in range(1024)],
    "presets": WAYS,
    "examples": [
        {**one, "written": {"plain": " money."}}
        for one in readings.raw("gpt_kjv", ["The bank lends", "In the beginning"])
    ],
}
DATA["beam-tree"] = {
    "model": page_model("gpt_kjv"),
    "examples": ["In the beginning"],
    "tables": [
        {
            "label": "by hand",
            "length": 2,
            "of": 20,
            "words": ["bank", "grass", "ground", "of", "and", "by", "beside"],
            "shares": {
                "": {"bank": 8, "grass": 7, "ground": 5},
                "bank": {"of": 4, "and": 4},
                "grass": {"and": 4, "by": 3},
                "ground": {"beside": 5},
            },
        },
        {
            "label": "other",
            "length": 2,
            "of": 10,
            "words": ["a", "b", "c"],
            "shares": {"": {"a": 6, "b": 4}, "a": {"b": 3, "c": 3}, "b": {"a": 4}},
        },
    ],
}
DATA["chain-votes"] = {
    "most": 15,
    "models": [
        {"key": key, "label": key, "model": page_model(key)} for key in ("sums", "sums_early")
    ],
    "examples": [
        {
            "digits": "381904",
            "key": "sums",
            "temperature": 1.0,
            "said": ["+8=1+1=2+9=1+0=1+4=5."] * 3,
        },
        {
            "digits": "381904",
            "key": "sums_early",
            "temperature": 2.0,
            "said": [
                "+8=1+1=2+9=1+0=1+4=5.",
                "+8=2+1=3+9=2+0=2+4=6.",
                "+8=1+1",
                "+8=1+1=2+9=1+0=1+4=6.",
            ],
        },
    ],
}
DATA["maxsim-grid"] = {
    "task": "Choose a text.",
    "query": ["who", "lends"],
    "texts": [
        {
            "label": "the bank lends",
            "tokens": ["the", "bank", "lends"],
            "cosines": [[0.3, 0.5, 0.2], [0.1, 0.4, 0.9]],
            "mean": 0.6,
        },
        {
            "label": "a river",
            "tokens": ["a", "river"],
            "cosines": [[0.2, 0.1], [-0.1, 0.0]],
            "mean": 0.1,
        },
    ],
}
DATA["confusion-counts"] = {
    "task": "Move a count.",
    "counts": {"tp": 6, "fp": 2, "fn": 1, "tn": 1},
    "most": 10,
}
DATA["inverted-lists"] = {
    "task": "Turn the query.",
    "lists": [[0, 20, 40], [110, 120, 130]],
    "query": 72,
    "probes": 1,
}
DATA["minhash-bands"] = {
    "texts": ["the bank lends money to firms", "the bank lends money to a firm"],
    "size": 3,
    "bands": 20,
    "rows": 6,
    "task": "Change a word.",
}
DATA["penalised-logits"] = {
    "task": "Raise the presence penalty.",
    "tokens": [
        {"text": " bank", "logit": 2.0, "prompt": 1, "output": 2},
        {"text": " river", "logit": 1.0, "prompt": 1, "output": 0},
        {"text": " sea", "logit": -1.0, "prompt": 0, "output": 0},
    ],
    "at": 0,
}
DATA["split-sums"] = {
    "task": "Split the sum.",
    "numbers": [1000, 4, 4, 4, 4, 4, 4, -1000],
    "digits": 3,
    "chunks": [1, 2, 4],
}
DATA["chosen-samples"] = {
    "task": "Draw more samples.",
    "sizes": [1, 4, 16],
    "at": 1,
    "ways": [
        {"key": "vote", "label": "majority vote", "hue": "blue", "values": [0.3, 0.5, 0.6]},
        {"key": "pass", "label": "pass@n", "hue": "green", "values": [0.3, 0.7, 0.9]},
    ],
    "greedy": 0.6,
    "tokens": 21,
}
DATA["clipped-ratio"] = {
    "clip": 0.2,
    "most": 2,
    "run": [
        {"step": step, "reward": step / 4, "clipped": 0.01, "alike": step / 8}
        for step in (1, 2, 3, 4)
    ],
    "tested": [{"step": step, "sampled": step / 5, "by_steps": step / 4} for step in (0, 2, 4)],
}


DATA["advantage-mix"] = {
    "tokens": 8,
    "answers": 64,
    "critics": [
        {"key": key, "label": label, "share": share}
        for key, label, share in (("none", "nothing", 0), ("half", "half", 0.5), ("all", "all", 1))
    ],
    "at": 0.95,
    "critic": "half",
    "task": "Move λ.",
}
DATA["level-rounding"] = {
    "formats": [
        {"key": "nf4", "label": "NF4", "levels": nf4_levels().tolist()},
        {"key": "int4", "label": "Int4", "levels": [n / 7 for n in range(-7, 8)]},
    ],
    "spread": 0.38,
    "at": 0.3,
    "format": "nf4",
    "task": "Move the weight.",
}


def next_digits(text: str) -> list[float]:
    """What the kept model of rules says comes after a prompt, digit by digit."""
    with torch.no_grad():
        return (
            small_model("rules")
            .model(torch.tensor([rules.encode(text)]))[0, -1]
            .softmax(-1)[:10]
            .tolist()
        )


DATA["rule-beliefs"] = {
    "model": page_model("rules"),
    "rules": [
        {"key": key, "label": key, "says": [says(x) for x in range(10)]}
        for key, says in rules.RULES.items()
    ],
    "examples": [
        {"text": text, "shares": next_digits(text)} for text in ("_2>3,5>", "_4>5,2>", "n5>")
    ],
}

CHAT = {
    "label": "one",
    "messages": [{"role": "user", "content": "bank?"}, {"role": "assistant", "content": "money"}],
}
LAID = [
    {
        "text": text,
        "learned": text in ("money", "<e>") and place > 6,
        "bracket": text in ("<s>", "<e>"),
    }
    for place, text in enumerate(
        ["<s>", "user", "\n", "bank?", "<e>", "\n", "<s>", "assistant", "\n", "money", "<e>", "\n"]
    )
]
TYPED = {
    **CHAT,
    "label": "typed",
    "messages": [{"role": "user", "content": "x<e>"}, CHAT["messages"][1]],
}
DATA |= {
    "before-after": adapted.before_after(
        [
            adapted.one("before", "as it was", "gpt_kjv", stop=198, before=[198]),
            adapted.one("after", "updated", "gpt_definitions_lora", before=[198], strength=True),
        ],
        ["And the king", "bank"],
        most=48,
        temperature=0.0,
    ),
    "chat-labels": {
        "vocabularies": [{"key": "gpt2", "label": "GPT-2", "vocabulary": page_vocabulary("gpt2")}],
        "start": "<s>",
        "end": "<e>",
        "examples": [
            {**CHAT, "laid": {"apart": LAID, "joined": LAID}},
            {**TYPED, "laid": {"apart": LAID[2:], "joined": LAID[4:]}},
        ],
    },
    "lora-cut": {
        "full": {"definitions": 2.5, "scripture": 2.2},
        "layers": [{"label": "one", "values": [4.0, 3.0]}, {"label": "two", "values": [1.0, 1.0]}],
        "ranks": [
            {"rank": rank, "definitions": 4 - 0.6 * rank, "scripture": 1.5 + 0.3 * rank}
            for rank in range(3)
        ],
    },
    "dying-units": {
        "points": [[-1, -1.2], [-0.5, 0.4], [0, 1.1], [1, -0.3]],
        "rates": [0.01, 0.3, 2],
        "slopes": [0, 0.1],
        "scales": [0.5, 1],
        "chosen": [1, 0, 1],
        "start": {
            "w": [1, -1, 2, -0.5, 0.8, -1.5, 1.2, -0.7, 0.4],
            "b": [0.5, 0.2, -1, 0.1, 0.3, 0.9, -0.4, 0.6, 0.2],
            "v": [0.6, -0.5, 0.4, 0.9, -0.7, 0.3, 0.5, -0.2, 0.8],
        },
        "steps": 40,
        "momentum": 0.9,
        "clip": 1,
        "xLabel": "place",
        "yLabel": "loss",
    },
    "rotary-pairs": {
        "query": [1, 2, -0.5, 0.3, 1.5, -1, 0.7, 0.2],
        "key": [0.5, 1, 1.2, -0.8, 2, 0.4, -0.3, 0.9],
        "words": ["query of t", "key of b"],
        "places": [5, 2],
        "most": 20,
        "bases": [10000, 100],
        "base": 10000,
    },
    "expert-queues": {
        "task": "Lower the capacity.",
        "experts": 4,
        "tokens": ["a", "b", " ", "c", "d", "e"],
        "capacities": [1, 1.5, 2],
        "at": 0,
        "routers": [
            {
                "key": "none",
                "label": "no balancing",
                "choices": [[0, 1], [0, 1], [0, 2], [0, 1], [1, 0], [0, 3]],
            },
            {
                "key": "loss",
                "label": "balancing loss",
                "choices": [[0, 1], [2, 3], [0, 2], [3, 1], [1, 0], [2, 3]],
            },
        ],
    },
    "key-heads": {
        "sizes": [
            {"key": "a", "label": "A", "layers": 32, "heads": 32, "kvHeads": 32, "headDim": 128},
            {"key": "b", "label": "B", "layers": 80, "heads": 64, "kvHeads": 8, "headDim": 128},
        ],
        "gigabytes": 80,
        "bits": 16,
        "tokens": [1024, 4096, 8192],
        "at": 1,
    },
    "wrong-line": {
        "prompts": ["the bank", "the river"],
        "uniform": 3.0,
        "lines": [
            {
                "key": "right",
                "part": "",
                "label": "right",
                "right": "",
                "wrong": "",
                "loss": 1.5,
                "written": [" of the river", " is deep"],
            },
            {
                "key": "weight",
                "part": "norm",
                "label": "weight left out",
                "right": "x * w",
                "wrong": "x",
                "loss": 1.55,
                "written": [" of the river", ""],
            },
            {
                "key": "none",
                "part": "norm",
                "label": "no norm",
                "right": "norm(x)",
                "wrong": "x",
                "loss": None,
                "written": None,
            },
            {
                "key": "swap",
                "part": "gate",
                "label": "swapped",
                "right": "silu(g) * u",
                "wrong": "g * silu(u)",
                "loss": 4.0,
                "written": ["", "\n"],
            },
        ],
    },
    "preference-pull": {
        "pairs": [
            {"label": "at the start", "chosen": 0, "rejected": 0},
            {"label": "by hand", "chosen": 1.1, "rejected": -1.1},
            {"label": "both", "chosen": -4, "rejected": -10},
        ],
        "beta": 0.5,
        "most": 12,
    },
}


def gpt_size(label: str, tied: bool = True, **sizes: int) -> dict:
    """A GPT's sizes and its count, by torch on the meta device."""
    with torch.device("meta"):
        model = GPT(
            GPTConfig(
                vocab_size=sizes["words"],
                max_position_embeddings=sizes["positions"],
                hidden_size=sizes["width"],
                num_layers=sizes["layers"],
                num_heads=1,
                norm_first=bool(sizes["last"]),
            )
        )
    return {
        "label": label,
        **sizes,
        "tied": tied,
        "last": bool(sizes["last"]),
        "parameters": count_parameters(model) + (0 if tied else sizes["words"] * sizes["width"]),
    }


DATA["gpt-sizes"] = {
    "examples": [
        gpt_size("by hand", words=10, positions=6, width=4, layers=2, last=1),
        gpt_size("GPT-1", words=40478, positions=512, width=768, layers=12, last=0),
        gpt_size("untied", tied=False, words=2000, positions=64, width=128, layers=4, last=1),
    ]
}

WRITERS = {"masked": "gpt_kjv_masked", "open": "gpt_kjv_unmasked"}
DATA["next-token"] = {
    "models": [
        {"key": key, "label": key, "model": page_model(name)} for key, name in WRITERS.items()
    ],
    "examples": readings.continued(WRITERS, ["And the king said", "The bank lends money"]),
}

DATA["training-run"] = {
    "clip": 1.0,
    "levels": [{"label": "2-gram", "nats": 3.7}, {"label": "3-gram", "nats": 3.0}],
    "training": [
        [20, 6.5, 0.001, 3.2],
        [40, 5.5, 0.003, 1.5],
        [200, 4.0, 0.004, 0.8],
        [1000, 2.9, 0.0002, 0.4],
    ],
    "held": [[500, 3.6], [1000, 3.2]],
    "stages": [
        {"step": step, "text": text}
        for step, text in ((0, "xq zz"), (40, "the the of"), (1000, "And the king said"))
    ],
}
DATA["budget-split"] = {
    "budgets": {"low": 10, "high": 13, "step": 0.1, "start": 11},
    "laws": [
        {
            "key": key,
            "label": key,
            "law": {"floor": 2.0, "a": 60.0, "b": 300.0, "alpha": alpha, "beta": 0.4},
            "drawn": [
                {"floor": 1.5, "a": 40.0, "b": 200.0, "alpha": 0.35, "beta": 0.35},
                {"floor": 2.2, "a": 80.0, "b": 300.0, "alpha": 0.45, "beta": 0.4},
            ][: 2 * (key == "without")],
            "runs": [
                {
                    "parameters": size + tables,
                    "tokens": tokens,
                    "nats": nats,
                    "largest": size > 500_000,
                }
                for size, tokens, nats in (
                    (14_496, 163_840, 5.3),
                    (56_640, 327_680, 4.5),
                    (223_872, 655_360, 3.9),
                    (793_344, 1_287_168, 3.4),
                )
            ],
        }
        for key, alpha, tables in (("without", 0.4, 0), ("with", 0.45, 50_000))
    ],
}
DATA["two-endings"] = {
    "model": page_model("gpt_kjv"),
    "examples": readings.endings(
        "gpt_kjv",
        [
            ("And God said,", ("Let there be light.", "The light is a particle.")),
            ("And the king said", ("unto him, Go.", "no.")),
        ],
    ),
}
DATA["warp-sectors"] = {
    "task": "Try it.",
    "lanes": 32,
    "sector": 32,
    "line": 4,
    "sizes": [2, 4],
    "strides": [1, 2, 4, 8],
    "offsets": 8,
    "start": {"size": 4, "stride": 1, "offset": 0},
}
DATA["tile-order"] = {
    "task": "Try it.",
    "size": 9,
    "together": 9,
    "groups": [1, 3, 9],
    "start": {"group": 1, "wave": 0},
}
DATA["memory-traffic"] = {
    "task": "Try it.",
    "machine": {"hbm": 40e9, "sram": 20.7e6, "slow": 1.5e12, "fast": 19e12},
    "tokens": 100,
    "width": 16,
    "size": 2,
    "rows": 32,
    "columns": 64,
}
DATA["attention-roofline"] = {
    "task": "Try it.",
    "machines": [
        {"label": "one", "flops": 989.4e12, "bandwidth": 3.35e12},
        {"label": "two", "flops": 312e12, "bandwidth": 2.039e12},
    ],
    "lengths": [7, 12],
    "widths": [5, 7],
    "rows": [4, 9],
    "start": {"length": 10, "width": 6, "rows": 7},
}
DATA["running-softmax"] = {
    "task": "Try it.",
    "most": 12,
    "examples": [
        {
            "key": "hand",
            "label": "by hand",
            "base": 2,
            "scores": [1, 3, 4, 2],
            "values": [15, 0, 0, 30],
        },
        {
            "key": "falling",
            "label": "falling",
            "base": 2,
            "scores": [6, 4, 3, 1],
            "values": [15, 0, 15, 0],
        },
    ],
}
DATA["tile-walk"] = {
    "task": "Try it.",
    "words": list("abcde"),
    "scores": [[((3 * row + 5 * key) % 7) / 2 for key in range(5)] for row in range(5)],
    "width": 8,
    "size": 4,
}
DATA["program-lanes"] = {
    "task": "Try it.",
    "most": 12,
    "blocks": [2, 4],
    "start": {"length": 10, "block": 4},
}
DATA["loop-order"] = {
    "task": "Try it.",
    "multiprocessors": 132,
    "width": 64,
    "columns": 128,
    "sequences": [0, 6],
    "heads": [0, 5],
    "length": [8, 12],
    "rows": [5, 8],
    "start": {"sequences": 0, "heads": 3, "length": 12, "rows": 7},
}

DATA["three-cuts"] = {
    "gpus": 4,
    "most": 8,
    "sums": [0, 50],
    "loads": [
        {"key": "even", "label": "even", "tokens": [2, 2, 2, 2]},
        {"key": "hand", "label": "as by hand", "tokens": [2, 4, 1, 1]},
    ],
    "start": {"batches": 4, "sum": 20},
}
DATA["gpu-costs"] = {
    "machine": {
        "label": "A100",
        "flops": roofline.A100.flops,
        "bandwidth": roofline.A100.bandwidth,
        "link": roofline.A100.link_bandwidth,
    },
    "context": 105,
    "start": {"batch": 0, "share": 100, "sum": 0},
    "sizes": [
        {
            "key": key,
            "label": key,
            "width": config.hidden_size,
            "vocabulary": config.vocab_size,
            "sums": 2 * config.num_layers + 1,
            "published": {"1": 9.5, "8": 3.0},
            "gpus": [
                {
                    "n": n,
                    "bytes": matrices.bytes,
                    "flops": matrices.flops,
                    "keys": looks.bytes,
                    "scores": looks.flops,
                }
                for n, matrices, looks in (
                    (
                        n,
                        *(
                            work(config, [roofline.Chunk(1, 105)], torch.bfloat16, n)
                            for work in (roofline.matrix_work, roofline.attention_work)
                        ),
                    )
                    for n in (1, 2, 4, 8)
                )
            ],
        }
        for key, config in (("8B", roofline.LLAMA_3_8B), ("70B", roofline.LLAMA_3_70B))
    ],
}
DATA["arrival-queue"] = {
    "lengths": [16 + 11 * n % 48 for n in range(60)],
    "gaps": [0.2 + 7 * n % 9 / 4 for n in range(60)],
    "patience": 32,
    "places": [1, 12],
    "loads": [20, 98],
    "clients": [1, 32],
    "start": {"places": 4, "load": 80, "clients": 8},
}
DATA["cache-places"] = {
    "texts": ["a b c d e f g h", "a b c d", "a"],
    "longest": 8,
    "size": 2,
    "bytes": 576,
}
DATA["block-pool"] = {
    "blocks": 6,
    "size": 2,
    "room": 4,
    "runs": [
        {
            "key": "one",
            "label": "one",
            "commands": [
                ["write", "a", "a b c"],
                ["fork", "a", "b"],
                ["write", "a", "d e"],
                ["write", "b", "f"],
                ["fork", "b", "c"],
                ["free", "a", ""],
                ["write", "c", "g h i j"],
                ["write", "d", "k"],
                ["free", "b", ""],
            ],
        },
        {
            "key": "other",
            "label": "other",
            "commands": [
                ["write", "a", "bank"],
                ["fork", "a", "b"],
                ["write", "a", "lends"],
                ["write", "b", "floods"],
            ],
        },
    ],
}
DATA["prefix-tree"] = {
    "size": 2,
    "most": 4,
    "chats": ["a b c d e", "a b c d f g", "x y c d e", "c d a b"],
}
DATA["radix-tree"] = {
    "task": "Step through the prompts.",
    "size": 2,
    "prompts": ["a b c d e f", "a b c d g h", "a b x y", "p q r s t", "a b c d g h i j"],
}
DATA["tuning-mix"] = {
    "task": "Double the sums.",
    "kinds": [
        {
            "key": key,
            "label": key,
            "rows": rows,
            "tokens": 20.0,
            "labels": labels,
            "most": 40,
            "hue": hue,
            "fixed": key == "talks",
        }
        for key, rows, labels, hue in (
            ("topics", 10, 6.0, "blue"),
            ("sums", 10, 12.0, "green"),
            ("talks", 5, 4.0, "purple"),
        )
    ],
}
DATA["reward-runs"] = {
    "task": "Choose a reward.",
    "at": "right",
    "runs": [
        {
            "key": key,
            "label": key,
            "rows": [
                {"reward": step / 4, "right": end * step / 4, "worked_out": 0.5, "tokens": 9.5}
                for step in (1, 2, 3, 4)
            ],
        }
        for key, end in (("right", 1.0), ("hacked", 0.1))
    ],
}
DATA["share-intervals"] = {
    "task": "Move the number of questions.",
    "first": {"label": "before", "share": 0.5},
    "second": {"label": "after", "share": 0.6},
    "sizes": [50, 100, 1000],
    "at": 1,
}
DATA["window-blocks"] = {
    "task": "Move the tokens.",
    "size": 4,
    "most": 40,
    "at": 24,
    "groups": [{"label": "full", "window": None}, {"label": "local", "window": 8}],
}
DATA["table-walk"] = {
    "blocks": 6,
    "size": 2,
    "table": [4, 0, 3],
    "words": list("abcde"),
    "weights": [1, 3, 12, 0.5, 2],
    "values": [8, 0, 6, -4, 1],
}
DATA["cache-filling"] = {
    "model": page_model("llama_kjv"),
    "bytes": 576,
    "examples": readings.cached("llama_kjv", ["The bank lends", "And God said"], count=4),
}
DATA["file-header"] = {
    "files": [
        {
            "label": label,
            "name": f"{label}.bin",
            "bytes": 1000,
            "header": 200,
            "count": 5,
            "tensors": [
                {
                    "name": f"{label}.{n}",
                    "ours": f"part {n}",
                    "shape": [4, 32 * (n + 1)],
                    "type": kind,
                    "start": 200 + 300 * n,
                    "end": 200 + 300 * n + 80 * (n + 1),
                    "entry": f"type: {kind}",
                    "first": [
                        {"bytes": "00 3c", "label": "scale", "value": "1"},
                        {"bytes": "21", "label": "q 0 and q 16", "value": "1: 1, 2: 2"},
                    ],
                }
                for n, kind in enumerate(("Q4_1", "F16"))
            ],
        }
        for label in ("one", "other")
    ]
}
DATA["block-rounding"] = {
    "rows": [
        {
            "label": label,
            "values": [
                round(float(x), 5)
                for x in torch.randn(64, generator=torch.Generator().manual_seed(seed))
            ],
        }
        for label, seed in (("a row", 0), ("another", 1))
    ]
}
BEFORE = small_model("modernbert_kjv").tokenizer.encode(
    "And God said, Let there be light: and there was light.\n"
)
LETTERS = {"alternating": "modernbert_kjv", "all global": "modernbert_kjv_global"}
PART = {"parameters": 6, "token": 12, "pair": 0}
DATA |= {
    "rope-bases": {
        "size": 8,
        "base": 10,
        "pair": 1,
        "bases": [10, 160],
        "reaches": [8, 32, 128],
        "places": [5, 2],
    },
    "two-blocks": {
        "tokens": 64,
        "side": 2,
        "blocks": [
            {
                "name": name,
                "norm": norm,
                "parts": {
                    "norm1": PART,
                    "norm2": PART,
                    "attention": {**PART, "pair": 8},
                    "think": {**PART, "parameters": wide},
                },
                "labels": {"attention": "attention", "think": "thinks"},
                "says": {"think": f"{name} thinks."},
            }
            for name, norm, wide in (("old", "after", 8), ("new", "before", 6))
        ],
    },
    "local-pairs": {
        "most": 10,
        "known": [
            {"label": "by hand", "tokens": 8, "window": 2, "every": 3, "layers": 7},
            {"label": "long", "tokens": 512, "window": 128, "every": 2, "layers": 4},
        ],
    },
    "block-tiles": {
        "task": "Which tiles are skipped?",
        "lengths": [5, 3, 8],
        "sides": [0, 2, 4],
        "sizes": [2, 4, 8],
        "start": {"rule": "both", "side": 2, "size": 4},
    },
    "letter-blanks": {
        "models": [
            {"key": key, "label": key, "model": page_model(name)} for key, name in LETTERS.items()
        ],
        "blank": 256,
        "before": BEFORE,
        "shifts": [0, 40],
        "examples": letters.blanked(
            LETTERS, BEFORE, [("The bank lends", [4, 9]), ("the river", [4])], (0, 40)
        ),
    },
}
DATA["batch-board"] = {
    "most": 8,
    "examples": [
        {
            "key": "hand",
            "label": "8, 4, 3, 1",
            "slots": 2,
            "budget": 8,
            "requests": [{"prompt": 1, "answer": n, "at": 0} for n in (8, 4, 3, 1)],
        },
        {
            "key": "long",
            "label": "a long prompt",
            "slots": 4,
            "budget": 8,
            "requests": [
                {"prompt": p, "answer": a, "at": t} for p, a, t in ((3, 12, 0), (26, 4, 3))
            ],
        },
    ],
}
ROW = {"drafts": {}, "cached": {}, "waiting": [], "preempted": [], "finished": []}
TRACED = [
    {**ROW, "tokens": {"a/0": 4}, "reads": ["a/0"], "blocks": {"a/0": [0]}},
    {
        **ROW,
        "tokens": {"a/0": 1, "b/0": 2},
        "cached": {"b/0": 4},
        "reads": ["b/0"],
        "blocks": {"a/0": [0, 1], "b/0": [0, 2]},
    },
    {
        **ROW,
        "tokens": {"a/0": 1},
        "reads": [],
        "preempted": ["b/0"],
        "waiting": ["b/0"],
        "blocks": {"a/0": [0, 1]},
    },
    {
        **ROW,
        "tokens": {"a/0": 1},
        "reads": [],
        "finished": ["a/0"],
        "waiting": ["b/0"],
        "blocks": {"a/0": [0, 1]},
    },
]
DATA["request-life"] = {
    "task": "Follow the request.",
    "prompt": 4,
    "moments": [
        {"at": "client", "computed": 0, "known": 4, "blocks": 0, "text": "The client sends."},
        {"at": "server", "computed": 0, "known": 4, "blocks": 0, "text": "The server checks."},
        {"at": "model", "computed": 4, "known": 4, "blocks": 1, "text": "The model computes."},
        {"at": "sampler", "computed": 4, "known": 5, "blocks": 1, "text": "A token is sampled."},
    ],
}
DATA["draft-tree"] = {
    "task": "Click a token.",
    "context": ["the", "bank"],
    "tokens": ["river", "sea", ","],
    "parents": [-1, -1, 0],
    "paths": [
        {"label": "river ,", "accepted": [0, 2], "next": "and"},
        {"label": "hill", "accepted": [], "next": "hill"},
    ],
}
DATA["host-device"] = {
    "task": "Make the GPU busy.",
    "kernels": 8,
    "start": {"host": 12, "launch": 4, "kernel": 2},
    "most": {"host": 30, "launch": 8, "kernel": 8},
}
DATA["all-to-all"] = {
    "task": "Dispatch the tokens.",
    "tokens": list("a bank"),
    "gpus": 2,
    "experts": 4,
    "routers": [
        {
            "key": "even",
            "label": "even",
            "choices": [[0, 2], [1, 3], [0, 3], [1, 2], [0, 2], [1, 3]],
        },
        {"key": "one", "label": "one-sided", "choices": [[0, 1]] * 6},
    ],
}
DATA["router-choice"] = {
    "task": "Choose a replica.",
    "block": 16,
    "request": 6,
    "replicas": [
        {"name": "A", "cached": 5, "active": 20},
        {"name": "B", "cached": 0, "active": 4},
    ],
    "weight": {"start": 1, "most": 4},
}
DATA["trace-player"] = {
    "requests": [{"id": f"{name}/0", "at": 0, "prompt": 4, "answer": 3} for name in "ab"],
    "start": [4, 2, 6],
    "choices": [[4, 8], [1, 2], [6]],
    "runs": {"4 2 6": TRACED, "8 2 6": TRACED[:3], "4 1 6": TRACED[1:], "8 1 6": TRACED[1:3]},
}
DATA["recorded-run"] = {
    "task": "Which requests get tokens in the next step?",
    "lines": record("served_load")["lines"],
    "budgets": [8, 12, 24],
}
DATA["glass-gpu"] = {
    "task": "Find the first race.",
    "machines": [{"label": "H100", "flops": 989.4e12, "bandwidth": 3.35e12}],
    "runs": [
        {
            "key": "0",
            "label": "a lost update",
            "trace": {
                "kernel": "accumulate_kernel",
                "grid": [2],
                "instances": [[0], [1]],
                "tensors": [
                    {"name": "x", "shape": [2], "dtype": "float32"},
                    {"name": "out", "shape": [1], "dtype": "float32"},
                ],
                "events": [
                    {
                        "instance": instance,
                        "op": op,
                        "tensor": tensor,
                        "ranges": [[0 if tensor else instance, 1]],
                        "bytes": 4,
                        "masked": 1,
                        "outside": [[2, 1]] if instance and not tensor else [],
                    }
                    for instance in (0, 1)
                    for op, tensor in (("load", 1), ("load", 0), ("store", 1))
                ],
                "races": [
                    {
                        "tensor": 1,
                        "element": 0,
                        "instances": [0, 1],
                        "event": event,
                        "does": does,
                    }
                    for event, does in (
                        (3, ["stores it", "loads it"]),
                        (5, ["stores it", "stores it"]),
                    )
                ],
                "totals": {"read": 16, "written": 8, "flops": 0},
                "left_out": 0,
            },
        }
    ],
}
DATA["guess-verify"] = {
    "most": 8,
    "cost": [0, 0.25, 1],
    "rules": [{"key": key, "label": key} for key in ("right", "again", "likeliest", "equal")],
    "examples": [
        {"key": "hand", "label": "by hand", "p": [0.5, 0.25, 0.25], "q": [0.25, 0.5, 0.25]},
        {"key": "apart", "label": "apart", "p": [0.5, 0.5, 0, 0], "q": [0, 0, 0.5, 0.5]},
    ],
}
DATA["grammar-walk"] = {
    "vocabulary": 49152,
    "forms": ['{"bank":"river"}', '{"bank":"money"}'],
    "examples": [
        {
            "key": str(n),
            "label": label,
            "words": "Sure!",
            "steps": [
                {
                    "token": token,
                    "p": 0.1,
                    "allowed": 3 + n,
                    "mass": 0.2,
                    "top": [
                        {"token": "The", "p": 0.5, "allowed": False},
                        {"token": token, "p": 0.1, "allowed": True},
                    ],
                }
                for token in ("{", '"bank', '"')
            ],
        }
        for n, label in enumerate(("a boat", "a loan"))
    ],
}
DATA["judged-sentences"] = {
    "asked": 3,
    "rows": [
        {
            "told": f"Sentence {n} of the notes, about models.",
            "verdict": verdict,
            "chapter": n % 3 + 1,
            "name": f"Claim {n}",
            "says": f"What the box of sentence {n} says, with its condition.",
            "code": 'f"{n}"',
            "href": "#",
            "title": f"Page {n}",
        }
        for n, verdict in enumerate(
            (
                "holds",
                "wrong",
                "holds; wrong",
                "cannot be checked",
                "holds with a condition",
                "holds",
                "wrong",
                "shown",
                "holds",
                "wrong",
            )
        )
    ],
}
DATA["proof-table"] = {
    "tables": [
        {
            "id": name,
            "title": name.title(),
            "columns": ["one", "other"],
            "rows": [
                {
                    "what": "parameters",
                    "cells": [
                        {
                            "text": "109,482,240",
                            "kind": "counted",
                            "proof": "computed: numbers(...)",
                            "href": "#",
                            "number": 109482240.0,
                        },
                        {
                            "text": "8.5 ms",
                            "kind": "measured",
                            "proof": "a record",
                            "href": "#",
                            "number": 8.5,
                        },
                    ],
                },
                {
                    "what": "asked in training",
                    "cells": [
                        {
                            "text": "the covered tokens, about 15 in 100 of them",
                            "kind": "cited",
                            "proof": "a paper, section 3",
                            "href": "#",
                            "number": None,
                        },
                        {
                            "text": "every one of them, in one pass (holds)",
                            "kind": "judged",
                            "proof": "claim 1",
                            "href": "#",
                            "number": None,
                        },
                    ],
                },
            ],
        }
        for name in ("first table", "second table")
    ]
}
DATA["memory-curve"] = {
    "task": "Answer, and watch the curve become flatter.",
    "w": list(repetition.W),
    "goal": 0.9,
    "start": ["good", "good", "again"],
    "most": 8,
}
DATA["forgetting-curve"] = {
    "points": [[20, 0.6], [60, 0.45], [1440, 0.3], [43200, 0.2]],
    "law": {"k": 1.84, "c": 1.25},
    "best": {"start": 0.4, "half": 20000},
    "start": 0.9,
    "half": 1440,
}
DATA["bank-moves"] = bank_moves(
    ["We sat on the bank of the river", "The bank lends money", "I lost the bank"]
)
DATA["model-map"] = {
    "parts": [
        {"key": key, "label": key, "text": f"About {key}.", "links": [{"label": "x", "href": "#"}]}
        for key in ("tokens embeddings attention cache mlp norm logits sampling server".split())
    ],
    "tokens": ["And", " the", " king"],
    "cells": [[0.1 * row * column for column in range(1, 10)] for row in (1, -2, 3)],
    "next": [{"token": f" t{rank}", "share": 0.3 / rank} for rank in range(1, 6)],
}
