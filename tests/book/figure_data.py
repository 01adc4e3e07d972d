"""Small data for every figure, for the tests that draw them. `nearest` and `two_readers` ask torch."""
import torch

from course.book import readings
from course.book.page_models import page_model, page_vocabulary
from reference_impl.corpora.small_models import small_model
from reference_impl.layers.masks import window_mask
from reference_impl.measure.flops import count_parameters
from reference_impl.models.bert import Bert, BertConfig, BertForPreTraining
from reference_impl.objectives.permutation import visible

SENTENCES = [["we", "sat", "on", "the", "bank", "of", "the", "river"], ["the", "bank", "lends", "money"]]


def _rows(mask: torch.Tensor) -> list[str]:
    """A mask as rows of ones and zeros."""
    return ["".join(str(int(seen)) for seen in row) for row in mask.tolist()]


def _visible(order: list[int]) -> list[str]:
    """Who sees whom when places are said in this order, by the objective."""
    turns = torch.tensor(order).argsort()[None]
    return _rows(visible(turns, torch.ones_like(turns, dtype=torch.bool))[0])


WORDS = list(dict.fromkeys(word for tokens in SENTENCES for word in tokens))
DATA = {
    "window-counts": {"sentences": SENTENCES, "vocabulary": WORDS, "window": 2},
    "skipgram-training": {"words": ["bank", "river", "money"], "groups": ["both", "water", "finance"], "snapshots": [
        {"step": 1000 * k, "loss": 4 - k, "positions": [[k, 0], [0, k], [1, 2]], "center": "bank", "contexts": ["river"],
         "negatives": ["money", "seven"]} for k in range(4)]},
    "bank-neighbours": {"words": ["bank", "light"], "senses": {"bank": ["river", "money"], "light": ["bright"]},
                        "methods": [{"key": "svd", "label": "Counts + SVD"}, {"key": "glove", "label": "GloVe"}],
                        "neighbours": {"bank": {"svd": [{"word": "shore", "cosine": 0.7, "sense": "river"},
                                                        {"word": "loan", "cosine": 0.6, "sense": "money"}],
                                                "glove": [{"word": "banks", "cosine": 0.8, "sense": "other"}]},
                                       "light": {"svd": [{"word": "lamp", "cosine": 0.5, "sense": "bright"}]}}},
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


DATA["word-mixtures"] = {"model": page_model("skipgram_glosses"), "examples": [
    {"text": text, "nearest": nearest(text)} for text in ("bank", "bank river", "bank -money")]}

TINY_BPE = [{"parts": ["b", "a", "n"], "ranks": [7, 3], "at": 1}, {"parts": ["b", "an"], "ranks": [5], "at": 0},
            {"parts": ["ban"], "ranks": [], "at": -1}]
DATA |= {
    "text-cuts": {"plain": True, "texts": [
        {"text": "the bank", "label": "bank", "cuts": {"gpt2": ["the", "Ġbank"], "bert": ["the", "bank"]}},
        {"text": "🏦", "cuts": {"gpt2": ["ðŁ", "ı", "¦"], "bert": ["[UNK]"]}}],
        "vocabularies": [{"key": key, "label": key, "vocabulary": page_vocabulary(key)} for key in ("gpt2", "bert")]},
    "bpe-training": {"words": [{"word": "bank", "count": 3}, {"word": "tank", "count": 2}, {"word": "bay", "count": 4}], "merges": 6},
    "bpe-encoding": {"examples": [{"text": "ban", "words": [TINY_BPE]}, {"text": " ban", "words": [TINY_BPE[1:]]}],
                     "vocabularies": [{"key": "gpt2", "label": "GPT-2", "vocabulary": page_vocabulary("gpt2")}]},
    "longest-match": {"examples": [
        {"word": "banks", "tries": [{"start": 0, "end": 5, "piece": "banks", "id": None}, {"start": 0, "end": 4, "piece": "bank", "id": 1},
                                    {"start": 4, "end": 5, "piece": "##s", "id": 2}]},
        {"word": "bank", "tries": [{"start": 0, "end": 4, "piece": "bank", "id": 1}]}],
        "vocabularies": [{"key": "bert", "label": "BERT", "vocabulary": page_vocabulary("bert")}]},
    "unigram-lattice": {"pieces": [
        {"key": "hand", "label": "five", "mark": "", "words": ["banks"], "pieces": "ban 3 bank 4 ks 4 s 5 k 5"},
        {"key": "more", "label": "more", "mark": "▁", "words": ["ban"], "pieces": "▁ 4 ▁ban 6 b 5 a 5 n 5 an 6"}]},
    "model-input": {"first": list("abcdefg"), "second": list("xyz"), "length": 10, "batch": 12},
    "token-price": {"counters": [{"key": "gpt2", "label": "GPT-2"}, {"key": "bytes", "label": "bytes"}],
                    "languages": [{"name": "English", "text": "All", "counts": {"gpt2": 10, "bytes": 30}, "lost": {}},
                                  {"name": "Hindi", "text": "सभी", "counts": {"gpt2": 90, "bytes": 80}, "lost": {"gpt2": 2}},
                                  {"name": "Thai", "text": "มนุษย์", "counts": {"gpt2": 80, "bytes": 70}, "lost": {}}]},
}

CORPUS = [line.split() for line in ("the bank lends money .", "the bank keeps money safe .",
                                    "we sat on the bank of the river .", "the river floods the bank .")]
READERS = {"ngram": "ngram_kjv", "lstm": "lstm_kjv"}


def spoken(word: str) -> dict:
    """The sounds of a word and the weights of each on its letters, computed by torch."""
    speller = small_model("lstm_spelling")
    source, target = speller.tokenizer["source"], speller.tokenizer["target"]
    ids = torch.tensor([[source.index(letter) for letter in word] + [1]])
    written, looks = speller.model.write(ids, start_id=0, end_id=1, max_tokens=32)
    return {"word": word, "said": [target[id] for id in written[0]], "looks": looks[0, :len(written[0])].tolist()}


DATA |= {
    "next-word-shares": {"sentences": CORPUS, "examples": ["the bank lends money .", "the river lends money safe bank"]},
    "text-judged": {"models": [{"key": key, "label": key, "model": page_model(name)} for key, name in READERS.items()],
                    "examples": readings.judged(READERS, ["The bank lends", "In the beginning"])},
    "lstm-gates": {"model": page_model("lstm_kjv"), "examples": readings.gates("lstm_kjv", ["The bank", "In the beginning"])},
    "spelling-looks": {"model": page_model("lstm_spelling"), "examples": [spoken("bank"), spoken("river")]},
}

READ = [("river, money", ("we sat on the bank of the river", "the bank lends money")),
        ("from the left", ("the bank lends money", "the bank is closed"))]
PLANES = [[{"centre": [0.5] * 96, "axes": [[float(i == axis) for i in range(96)] for axis in (3, 40)]} for _ in range(2)]
          for _ in range(3)]


@torch.no_grad()
def two_readers(texts: tuple[str, str], word: str = "bank") -> dict:
    """The cosines of a word's two vectors by layer and half, and their places in the planes, computed by torch."""
    elmo = small_model("elmo_glosses")
    pairs = [elmo.model.layers(*elmo.tokenizer([text.split()]))[:, 0, text.split().index(word)].unflatten(-1, (2, -1)) for text in texts]
    cosines = torch.cosine_similarity(*pairs, dim=-1)
    spots = [[[[float(one[layer, half] @ torch.tensor(axis) - 0.5) for axis in PLANES[layer][half]["axes"]] for one in pairs]
              for half in range(2)] for layer in range(3)]
    return {"texts": list(texts), "word": word, "cosines": cosines.tolist(), "spots": spots}


USES = [{"sense": sense, "points": [[[x, -x / 2], [-x, x]] for _ in range(3)]} for sense, x in (("river", 1.0), ("money", -0.7), ("other", 0.2))]
SEEN = {key: [{"label": "letters", "name": "layer 0", "step": 0, "seen": [[t] for t in range(3)]},
              {"label": "1 →", "name": "layer 1, from the left", "step": 1, "seen": seen},
              {"label": "1 ←", "name": "layer 1, from the right", "step": -1, "seen": [[0, 1, 2], [1, 2], [2]]}]
        for key, seen in (("apart", [[0], [0, 1], [0, 1, 2]]), ("joined", [[0, 1, 2]] * 3))}
DATA |= {
    "two-readers": {"model": page_model("elmo_glosses"), "word": "bank", "layer": 2, "uses": USES, "planes": PLANES,
                    "examples": [{"label": label, **two_readers(texts)} for label, texts in READ]},
    "seen-by-layer": {"words": ["the", "bank", "lends"], "place": 1,
                      "readers": [{"key": key, "label": key, "columns": columns} for key, columns in SEEN.items()]},
}

DATA["attention-plane"] = {"words": ["sat", "the", "bank"], "at": 1, "size": 4, "query": [1.5, 1.5], "keys": [[0, 0], [1, 0], [1, 1]],
                           "values": [[0, 8], [0, 0], [8, 0]], "drawn": [[0.5, -1.0, 2.0], [1.0, 1.0, -0.5], [0.0, 2.0, 1.5], [-1.0, 0.5, 1.0]]}
DATA["two-clocks"] = {"words": ["bank", "river"], "query": [1, 2], "key": [2, 1], "places": [3, 1], "most": 6,
                      "speeds": [{"key": "quarter", "label": "90°", "degrees": 90}, {"key": "slow", "label": "10°", "degrees": 10}]}
MAPS = [[[[float(q == k) * 2 + layer - head * k / 2 for k in range(3)] for q in range(3)] for head in range(2)] for layer in range(3)]
SMALL = [{"key": "bert", "label": "BERT", "before": "[CLS] ", "after": " [SEP]", "model": page_model("bert_kjv")},
         {"key": "gpt", "label": "GPT", "model": page_model("gpt_kjv")}]
DATA["attention-maps"] = {"layer": 0, "head": 1, "recorded": "MiniLM", "models": SMALL, "examples": [{"label": label, "tokens": tokens, "at": 1, "scores": MAPS} for label, tokens in (
    ("one", ["the", "bank", "lends"]), ("two", ["a", "bank", "opens"]))]}

DATA |= {
    "block-sizes": {"examples": [
        {"label": "by hand", "tokens": 3, "heads": 2, "size": 2, "times": 2, "norm": "after", "parameters": 172, "operations": 912},
        {"label": "wide", "tokens": 8, "heads": 4, "size": 4, "times": 4, "norm": "before", "parameters": 3280, "operations": 53248}]},
    "three-attentions": {"model": page_model("transformer_spelling"), "examples": readings.spelled("transformer_spelling", ["bank", "river"])},
}
PLACED = [id % 500 for id in range(3, 7 * 448, 7)]
DATA["position-kinds"] = {"model": page_model("positions_kjv"), "kinds": [{"key": kind, "label": kind} for kind in ("none", "learned", "sinusoidal", "T5", "ALiBi", "RoPE")],
                          "before": PLACED, "shifts": [0, 64, 448], "examples": readings.placed("positions_kjv", PLACED, ["The bank", "the river is deep"], (0, 64, 448))}

DATA["input-sum"] = {"texts": [["the", "bank", "of"], ["bank", "lend", "##s"]], "at": "0.1", "most": 2.0,
                     "word": {piece: [n / 4, 1 - n, 0.5] for n, piece in enumerate(["[CLS]", "[SEP]", "the", "bank", "of", "lend", "##s"])},
                     "position": [[0.1 * n, -0.2, 0.3 * n] for n in range(9)], "segment": [[0.5, 0.5, -1.0], [-0.5, 0.25, 1.0]]}
DATA["mask-draws"] = {"texts": [{"label": "one", "tokens": ["[CLS]", *"abcdefghij", "[SEP]"]}, {"label": "two", "tokens": ["[CLS]", "a", "[SEP]"]}],
                      "others": ["x", "y"], "share": 0.25, "masked": 0.8, "replaced": 0.1,
                      "vocabularies": [{"key": "bert", "label": "BERT", "vocabulary": page_vocabulary("bert")}]}
HEAD_TOKENS = ["[CLS]", "anna", "sat", "[SEP]"]
DATA["task-heads"] = {"most": 1.0, "tasks": [
    {"key": key, "label": key, "tokens": HEAD_TOKENS, "vectors": [[0.1 * n, -0.5, 1.0] for n in range(4)], "heads": heads,
     "why": [f"says {key} of {token}" for token in HEAD_TOKENS]}
    for key, heads in (("sentence", [{"label": "Pooler", "out": "2 logits", "rows": [0]}]),
                       ("tags", [{"label": token, "out": "5 logits", "rows": [n]} for n, token in ((0, "a"), (1, "anna"), (2, "sat"))]),
                       ("span", [{"label": name, "out": "1 number", "rows": [1, 2]} for name in ("start", "end")]))]}
DATA["tuned-runs"] = {"every": 6, "start": {"rate": 0}, "levels": [{"label": "head alone", "mean": 0.7, "half": 0.04}, {"label": "larger class", "mean": 0.5, "half": 0}],
                      "groups": [{"key": key, "label": key, "settings": [{"label": label, "loss": [[0.7, low], [0.69, low + 0.05]], "accuracy": [1 - low, 0.9 - low]}
                                                                        for label, low in (("small", 0.6), ("fine", 0.2), ("large", 0.55))]} for key in ("rate", "epochs")]}
PAIRS = [{"first": ["the", "bank", "lends"], "second": ["the", "bank", "asks"], "label": 0, "overlap": 0.5, "says": 0},
         {"first": ["a", "river"], "second": ["light", "fell"], "label": 0, "overlap": 0.0, "says": 1},
         {"first": ["we", "sat"], "second": ["money", "sat"], "label": 1, "overlap": 0.2, "says": 0}]
DATA["pair-guess"] = {"tasks": [{"key": "next", "label": "next", "yes": "follows", "no": "from elsewhere", "pairs": PAIRS},
                                {"key": "order", "label": "order", "yes": "as written", "no": "exchanged", "pairs": PAIRS[:2]}]}


def bert_size(label: str, **sizes: int) -> dict:
    """A BERT's sizes and its counts, by torch on the meta device."""
    config = BertConfig(vocab_size=sizes["words"], max_position_embeddings=sizes["positions"], hidden_size=sizes["width"], num_layers=sizes["layers"],
                        num_heads=sizes["heads"], intermediate_size=sizes["times"] * sizes["width"])
    with torch.device("meta"):
        encoder, whole = (count_parameters(make(config)) for make in (Bert, BertForPreTraining))
    return {"label": label, "segments": 2, **sizes, "parameters": encoder, "added": whole - encoder}


DATA |= {
    "encoder-sizes": {"examples": [bert_size("by hand", words=10, positions=4, width=4, layers=1, heads=2, times=2),
                                   bert_size("base", words=30522, positions=512, width=768, layers=12, heads=12, times=4),
                                   bert_size("large", words=30522, positions=512, width=1024, layers=24, heads=16, times=4)]},
    "filled-blanks": {"model": page_model("bert_kjv"), "mask": "[MASK]",
                      "examples": readings.filled("bert_kjv", ["and the lord said unto [MASK], speak", "we sat on the [MASK] of the river"])},
    "training-stages": {"curve": [[100, 5.5], [200, 4.5], [300, 4.0]], "other": {"label": "random", "points": [[100, 5.9], [200, 5.8]]},
                        "levels": [{"label": "unigram", "nats": 5.8}, {"label": "bigram", "nats": 4.2}],
                        "stages": [{"step": step, "nats": nats, "filled": [{"text": text, "fillings": [[word, step / 1000], ["lord", 0.1]]}
                                                                           for text, word in (("the [MASK] said", "king"), ("a [MASK]", "man"))]}
                                   for step, nats in ((0, 6.0), (200, 4.5), (300, 4.0))]},
    "sparse-patterns": {"tokens": list("abcdefgh"), "windows": [_rows(window_mask(8, before=side, after=side)) for side in range(8)],
                        "random": [["00000000"] * 8, ["00000000", "00010000", "00001000", "00000010", "01000000", "01000000", "00100000", "00000000"]],
                        "presets": [{"key": "window", "label": "window", "side": 2, "random": 0, "global": []},
                                    {"key": "global", "label": "with a", "side": 2, "random": 0, "global": [0]}]},
    "span-cuts": {"texts": [{"label": "a", "tokens": SENTENCES[0] + SENTENCES[1]}, {"label": "b", "tokens": list("abcdefghijklmnopqrst")}],
                  "share": 0.15, "span": 3, "seed": 1, "whole": "whole"},
    "spoken-order": {"tokens": SENTENCES[1], "orders": [{"key": key, "label": key, "order": order, "visible": _visible(order)}
                                                       for key, order in (("left", [0, 1, 2, 3]), ("mixed", [2, 0, 3, 1]))]},
}
DATA["asked-again"] = {"texts": [{"label": "one", "tokens": list("abcdefghijklmnopqrst")}, {"label": "two", "tokens": list("abc")}], "share": 0.15, "copies": 3, "most": 8}
DATA["soft-targets"] = {"examples": [
    {"text": "by hand", "names": {str(n): name for n, name in enumerate("abc")}, "teacher": [1.386294, 0.0, 0.0], "student": [0.0, 1.386294, 0.0]},
    {"text": "more", "names": {str(n): f"word {n}" for n in range(8)}, "teacher": [4.0 - 0.5 * n for n in range(12)], "student": [1.0, 3.0, *([0.5] * 10)]}]}
DATA["suspicion"] = {"model": page_model("electra_kjv_stages"), "tries": ["river", "king"],
                     "examples": readings.suspected("electra_kjv_stages", ["and the lord said unto moses", "and the river said unto moses"])}

RANKED = {"texts": ["shore", "lender", "tune"], "methods": [{"key": "mean", "label": "mean", "ndcg": 0.9}, {"key": "cls", "label": "[CLS]", "ndcg": 0.5}]}
DATA["ranked-texts"] = {"sets": [
    {**RANKED, "key": "words", "label": "three words", "ask": "Definition", "queries": [
        {"text": "sloping land", "right": [0], "first": {"mean": [[0, 0.9], [2, 0.2]], "cls": [[1, 0.8], [0, 0.7]]}, "ndcg": {"mean": 1, "cls": 0.63}, "rank": {"mean": 1, "cls": 2}},
        {"text": "one who gives credit", "right": [1, 2], "first": {"mean": [[1, 0.8], [0, 0.1]], "cls": [[0, 0.8], [2, 0.7]]},
         "ndcg": {"mean": 0.6, "cls": 0.39}, "rank": {"mean": 1, "cls": 2}}]},
    {**RANKED, "key": "near", "label": "near a text", "ask": "Text", "methods": [{"key": "mean", "label": "mean", "ndcg": None}],
     "queries": [{"text": "shore", "right": [], "first": {"mean": [[1, 0.3], [2, 0.1]]}, "ndcg": {}, "rank": {}}]}]}
DATA["tags-by-hand"] = {"kinds": ["PER", "ORG"], "sentences": [
    {"label": "one", "words": ["anna", "weber", "asked", "hall", "bank"], "true": ["B-PER", "I-PER", "O", "B-ORG", "I-ORG"],
     "said": [{"label": "start", "tags": ["B-PER", "O", "O", "B-ORG", "I-ORG"]}, {"label": "all O", "tags": ["O"] * 5}]},
    {"label": "two", "words": ["it", "rains"], "true": ["O", "O"], "said": [{"label": "start", "tags": ["O", "I-ORG"]}]}]}
DATA["span-sums"] = {"longest": 15, "questions": [
    {"label": "by hand", "question": "", "tokens": list("abcde"), "inside": [True] * 5, "start": [1, 2, 6, 3, 1], "end": [0, 5, 1, 4, 2], "answer": ""},
    {"label": "asked", "question": "who [SEP] the bank lend ##s", "tokens": ["who", "[SEP]", "the", "bank", "lend", "##s"], "inside": [False, False, True, True, True, True],
     "start": [9.5, 0.25, 3.5, 2, 1, -4.5], "end": [8, 0.5, -1.5, 4.5, -2, 3], "answer": "the bank"}]}
