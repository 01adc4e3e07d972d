"""One fixed vector for each word: by counting, by predicting, and how to judge the
result.

Read in this order: vocabulary, counts, skipgram, softmax, hierarchical, cbow, glove,
subwords, vectors, evaluation, trained.
"""
