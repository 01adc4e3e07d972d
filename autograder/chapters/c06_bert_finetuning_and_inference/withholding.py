"""What is withheld in the exercises of this chapter: the course's own answers, and libraries with
these measures ready.
"""

BOOK = "06-bert-finetuning-and-inference"
OURS = dict.fromkeys(
    (
        "reference_impl.measure.spans",
        "reference_impl.measure.answers",
        "reference_impl.measure.retrieval",
        "reference_impl.measure.metrics",
        "reference_impl.models.heads",
        "reference_impl.models.pooling",
        "reference_impl.models.bert_tasks",
        "reference_impl.objectives.task_losses",
        "reference_impl.training.schedules",
        "reference_impl.training.fine_tuning",
    ),
    "it is the course's own answer",
)
LIBRARIES = dict.fromkeys(
    ("sklearn", "transformers"), "it gives the answer that you are asked to write"
)
