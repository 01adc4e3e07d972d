"""BERT with the head of a task to fine-tune on.

Devlin et al. 2019, section 4 and figure 4: (a, b) a sentence or a pair, (c) an answer's
span, (d) a tag for each token; section 4.4 for choosing among endings. Reimers and
Gurevych 2019 for sentence vectors.

A head starts from random numbers: make the model, then put a pretrained encoder into it
by `model.bert = Bert.from_pretrained(path)`. `from_pretrained` of a class here reads an
encoder that has that head.

Not here: losses, and aligning tags with word pieces (see `objectives.task_losses`),
metrics (see `measure.metrics`).
"""

from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from reference_impl.layers.checks import check_choices
from reference_impl.layers.initial import start_normal
from reference_impl.models.bert import Bert, BertConfig
from reference_impl.models.heads import Classifier, SpanHead, mean_pool
from reference_impl.weights.families import bert
from reference_impl.weights.pretrained import Pretrained


def task_dropout(config: BertConfig) -> float:
    """How much a head drops of what it reads."""
    return (
        config.hidden_dropout
        if config.classifier_dropout is None
        else config.classifier_dropout
    )


class BertForSequenceClassification(Pretrained, nn.Module):
    """A label for a sentence or a pair, from the pooled vector of [CLS].

    One label is a regression.
    """

    config_class = BertConfig
    files = bert.CLASSIFIER

    def __init__(self, config: BertConfig, num_labels: int = 2):
        super().__init__()
        self.config = config
        self.bert = Bert(config)
        self.classifier = Classifier(
            config.hidden_size, num_labels, task_dropout(config)
        )
        start_normal(self)

    def forward(
        self,
        ids: Int[Tensor, "B T"],
        segments: Int[Tensor, "B T"] | None = None,
        mask: Bool[Tensor, "B T"] | None = None,
    ) -> Float[Tensor, "B L"]:
        """Logits of the labels."""
        return self.classifier(self.bert(ids, segments, mask).pooled)


class BertForMultipleChoice(Pretrained, nn.Module):
    """Which of N endings: one number for each pair of question and ending, a softmax
    over the N.
    """

    config_class = BertConfig
    files = bert.CLASSIFIER

    def __init__(self, config: BertConfig):
        super().__init__()
        self.config = config
        self.bert = Bert(config)
        self.classifier = Classifier(config.hidden_size, 1, task_dropout(config))
        start_normal(self)

    def forward(
        self,
        ids: Int[Tensor, "B N T"],
        segments: Int[Tensor, "B N T"] | None = None,
        mask: Bool[Tensor, "B N T"] | None = None,
    ) -> Float[Tensor, "B N"]:
        """Logits of the endings."""
        check_choices(ids)
        flat = [
            None if tensor is None else tensor.flatten(0, 1)
            for tensor in (ids, segments, mask)
        ]  # (B N, T)
        return self.classifier(self.bert(*flat).pooled).view(ids.shape[:2])


class BertForTokenClassification(Pretrained, nn.Module):
    """A tag for each token: named entities by B, I and O."""

    config_class = BertConfig
    files = bert.CLASSIFIER

    def __init__(self, config: BertConfig, num_labels: int = 9):
        super().__init__()
        self.config = config
        self.bert = Bert(config, pooler=False)
        self.classifier = Classifier(
            config.hidden_size, num_labels, task_dropout(config)
        )
        start_normal(self)

    def forward(
        self,
        ids: Int[Tensor, "B T"],
        segments: Int[Tensor, "B T"] | None = None,
        mask: Bool[Tensor, "B T"] | None = None,
    ) -> Float[Tensor, "B T L"]:
        """Logits of the tags.

        Those of padding and of later pieces of a word are for the loss to leave out.
        """
        return self.classifier(self.bert(ids, segments, mask).tokens)


class BertForQuestionAnswering(Pretrained, nn.Module):
    """Where in the passage the answer starts and ends.

    The question is the first segment, the passage the second.
    """

    config_class = BertConfig
    files = bert.SPAN

    def __init__(self, config: BertConfig):
        super().__init__()
        self.config = config
        self.bert = Bert(config, pooler=False)
        self.span = SpanHead(config.hidden_size)
        start_normal(self)

    def forward(
        self,
        ids: Int[Tensor, "B T"],
        segments: Int[Tensor, "B T"] | None = None,
        mask: Bool[Tensor, "B T"] | None = None,
    ) -> tuple[Float[Tensor, "B T"], Float[Tensor, "B T"]]:
        """Logits of the first and of the last token of the answer."""
        return self.span(self.bert(ids, segments, mask).tokens)


def sentence_vectors(
    bert: Bert, ids: Int[Tensor, "B T"], mask: Bool[Tensor, "B T"]
) -> Float[Tensor, "B C"]:
    """A vector for each sentence: the mean over its tokens.

    MiniLM and its like were trained to be read so.
    """
    return mean_pool(bert(ids, mask=mask).tokens, mask)
