"""Small data for every figure, for the tests that draw them. NEAREST is what torch says of the vectors."""
import torch

from course.book import readings
from course.book.page_models import page_model, page_vocabulary
from reference_impl.corpora.small_models import small_model

SENTENCES = [["we", "sat", "on", "the", "bank", "of", "the", "river"], ["the", "bank", "lends", "money"]]
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
