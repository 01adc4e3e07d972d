"""Small data for every figure, for the tests that draw them. NEAREST is what torch says of the vectors."""
from course.book.page_models import page_model
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
