"""Quality on real text: our training and gensim's, same sentences, same settings, judged on the
same pairs.
"""

import pytest
import torch

from reference_impl import corpora
from reference_impl.embeddings.evaluation import word_similarity
from reference_impl.embeddings.skipgram import train_skipgram
from reference_impl.embeddings.vectors import Vectors
from reference_impl.embeddings.vocabulary import Vocabulary, encode, tokenize


@pytest.fixture(scope="module")
def pairs():
    return corpora.load("wordsim353")


@pytest.fixture(scope="module")
def glosses_of_the_pairs(pairs):
    """Only the glosses of the words that are asked about: 24,000 words, enough to tell good
    training from bad.
    """
    asked = {word.lower() for first, second, _ in pairs for word in (first, second)}
    sentences = [tokenize(line) for line in corpora.load("oewn_glosses")]
    return [sentence for sentence in sentences if sentence and sentence[0] in asked]


def test_skip_gram_orders_word_pairs_as_well_as_gensims(glosses_of_the_pairs, pairs):
    pytest.importorskip("gensim")
    from gensim.models import Word2Vec

    vocabulary = Vocabulary.from_sentences(glosses_of_the_pairs, 2)
    ours = train_skipgram(
        encode(glosses_of_the_pairs, vocabulary),
        vocabulary,
        dim=50,
        window=5,
        epochs=40,
        learning_rate=0.05,
        rows=16,
    )
    model = Word2Vec(
        glosses_of_the_pairs,
        vector_size=50,
        window=5,
        negative=5,
        epochs=40,
        alpha=0.05,
        sample=1e-3,
        min_count=2,
        workers=1,
        seed=1,
        sg=1,
    )
    theirs = Vectors(model.wv.index_to_key, torch.from_numpy(model.wv.vectors))
    assert ours.words == sorted(
        theirs.words, key=lambda word: (-vocabulary.counts[vocabulary.index[word]], word)
    )
    rho, gensims = word_similarity(ours, pairs).rho, word_similarity(theirs, pairs).rho
    # So small a text scatters: the bench holds the full one to .03.
    assert rho > 0.45 and gensims > 0.45
    assert rho > gensims - 0.05
