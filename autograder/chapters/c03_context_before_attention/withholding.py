"""What is withheld in the exercises of this chapter: the course's own language models, and torch's
LSTM in its step.
"""

MODELS = dict.fromkeys(
    (
        "reference_impl.models.ngram",
        "reference_impl.models.ngram_table",
        "reference_impl.models.lstm",
        "reference_impl.models.elmo",
        "reference_impl.models.seq2seq",
        "reference_impl.objectives.bidirectional_lm",
        "reference_impl.measure.metrics",
    ),
    "it is the course's own answer",
)
CELLS = dict.fromkeys(
    ("torch.nn.LSTMCell", "torch.nn.LSTM", "torch.lstm_cell", "torch.lstm"),
    "it is the step that you are asked to write",
)
