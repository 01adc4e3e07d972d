"""Every model with every input that it can't take, in a process without checks of shapes, as a
student runs it.

    python tests/reference_impl/models/refusals.py

Prints a JSON object: for each case, the kind of error and its words, or what came back in place of
one.
"""

import json

import torch

from reference_impl.layers.packing import Packing
from reference_impl.models.albert import Albert, AlbertConfig
from reference_impl.models.bert import Bert, BertConfig, BertForMaskedLM
from reference_impl.models.bert_tasks import BertForMultipleChoice, BertForSequenceClassification
from reference_impl.models.bigbird import BigBird, BigBirdConfig
from reference_impl.models.deberta import Deberta, DebertaConfig
from reference_impl.models.distilbert import DistilBert, DistilBertConfig
from reference_impl.models.electra import Electra, ElectraConfig
from reference_impl.models.gpt import GPT, GPTConfig
from reference_impl.models.gpt_neox import GPTNeoX, GPTNeoXConfig
from reference_impl.models.gpt_tasks import GPTForMultipleChoice, GPTForSequenceClassification
from reference_impl.models.llama import Llama, LlamaConfig
from reference_impl.models.longformer import Longformer, LongformerConfig
from reference_impl.models.modernbert import ModernBert, ModernBertConfig
from reference_impl.models.roberta import Roberta, RobertaConfig
from reference_impl.models.t5 import T5, T5Config
from reference_impl.models.transformer import Transformer, TransformerConfig
from reference_impl.models.xlnet import XLNet, XLNetConfig

SIZES = {
    "vocab_size": 11,
    "hidden_size": 8,
    "num_layers": 2,
    "num_heads": 2,
    "intermediate_size": 6,
}
PLACED = {**SIZES, "max_position_embeddings": 12}
IDS = torch.tensor([[3, 9, 1, 7], [2, 2, 5, 0]])

ENCODERS = {
    "bert": Bert(BertConfig(**PLACED)),
    "masked lm": BertForMaskedLM(BertConfig(**PLACED)),
    "classifier": BertForSequenceClassification(BertConfig(**PLACED)),
    "roberta": Roberta(RobertaConfig(**PLACED)),
    "albert": Albert(AlbertConfig(**PLACED, embedding_size=4)),
    "electra": Electra(ElectraConfig(**PLACED, embedding_size=4)),
    "distilbert": DistilBert(DistilBertConfig(**PLACED)),
    "deberta": Deberta(DebertaConfig(**SIZES)),
    "longformer": Longformer(LongformerConfig(**PLACED, attention_window=4)),
    "bigbird": BigBird(BigBirdConfig(**PLACED, block_size=2, num_random_blocks=1)),
    "xlnet": XLNet(XLNetConfig(**SIZES)),
    "modernbert": ModernBert(ModernBertConfig(**PLACED)),
}
DECODERS = {
    "gpt": GPT(GPTConfig(**PLACED)),
    "llama": Llama(LlamaConfig(**PLACED)),
    "gpt_neox": GPTNeoX(GPTNeoXConfig(**PLACED, rotary_share=1.0)),
}
PAIRS = {
    "t5": T5(T5Config(**SIZES, head_dim=4)),
    "transformer": Transformer(TransformerConfig(**SIZES)),
}

BAD_IDS = {
    "one row": IDS[0],
    "three dimensions": IDS[None],
    "no rows": IDS[:0],
    "no tokens": IDS[:, :0],
    "fractions": IDS.float(),
    "booleans": IDS > 3,
    "negative": -IDS,
    "past the vocabulary": IDS + 8,
    "a list": IDS.tolist(),
    "None": None,
}
BAD_MASKS = {
    "a narrow mask": torch.ones(2, 3).bool(),
    "a mask of one row": torch.ones(1, 4).bool(),
    "a flat mask": torch.ones(4).bool(),
    "a mask of numbers": torch.ones(2, 4),
    "a list of a mask": [[True] * 4] * 2,
}
BAD_SEGMENTS = {
    "segments of one row": torch.zeros(1, 4).long(),
    "flat segments": torch.zeros(4).long(),
    "segments of fractions": torch.zeros(2, 4),
    "a third segment": torch.full((2, 4), 7),
    "negative segments": torch.full((2, 4), -1),
}
BAD_POSITIONS = {
    "negative positions": IDS - 20,
    "flat positions": torch.arange(4),
    "positions of fractions": IDS.float(),
    "too few positions": IDS[:, :3],
}


def cases():
    """Names of cases, and what to call."""
    for name, model in {**ENCODERS, **DECODERS}.items():
        for what, ids in BAD_IDS.items():
            yield f"{name}: {what}", lambda model=model, ids=ids: model(ids)
        for what, mask in BAD_MASKS.items():
            yield f"{name}: {what}", lambda model=model, mask=mask: model(IDS, mask=mask)
    for name, model in {**ENCODERS, **DECODERS}.items():
        if hasattr(model.config, "max_position_embeddings"):
            yield (
                f"{name}: too long",
                lambda model=model: model(torch.ones(1, 13, dtype=torch.long)),
            )
    for name in ("bert", "masked lm", "classifier", "albert", "electra", "bigbird"):
        for what, segments in BAD_SEGMENTS.items():
            yield (
                f"{name}: {what}",
                lambda model=ENCODERS[name], segments=segments: model(IDS, segments),
            )
    yield (
        "xlnet: segments of one row",
        lambda: ENCODERS["xlnet"](IDS, segments=torch.zeros(1, 4).long()),
    )
    yield "xlnet: flat targets", lambda: ENCODERS["xlnet"](IDS, targets=torch.ones(4).bool())
    yield (
        "xlnet: narrow visibility",
        lambda: ENCODERS["xlnet"](IDS, visible=torch.ones(2, 4, 3).bool()),
    )
    yield "xlnet: memory of one layer", lambda: ENCODERS["xlnet"](IDS, memory=[torch.ones(2, 3, 8)])
    yield (
        "xlnet: memory of one row",
        lambda: ENCODERS["xlnet"](IDS, memory=[torch.ones(1, 3, 8)] * 2),
    )
    for name, model in DECODERS.items():
        for what, positions in BAD_POSITIONS.items():
            yield (
                f"{name}: {what}",
                lambda model=model, positions=positions: model(IDS, positions=positions),
            )
        yield f"{name}: a cache of one layer", lambda model=model: model(IDS, cache=[object()])
    for name, model in PAIRS.items():
        for what, ids in BAD_IDS.items():
            yield f"{name}: source {what}", lambda model=model, ids=ids: model(ids, IDS)
            yield f"{name}: target {what}", lambda model=model, ids=ids: model(IDS, ids)
        for what, mask in BAD_MASKS.items():
            yield f"{name}: {what}", lambda model=model, mask=mask: model(IDS, IDS, mask)
        yield f"{name}: more targets than sources", lambda model=model: model(IDS[:1], IDS)
    yield (
        "longformer: a narrow choice of global tokens",
        lambda: ENCODERS["longformer"](IDS, is_global=torch.ones(2, 3).bool()),
    )
    yield "choices in two dimensions", lambda: BertForMultipleChoice(BertConfig(**PLACED))(IDS)
    yield (
        "choices that are none",
        lambda: BertForMultipleChoice(BertConfig(**PLACED))(IDS[:, None, :0]),
    )
    for head in (GPTForSequenceClassification, GPTForMultipleChoice):
        yield f"{head.__name__}: one row", lambda head=head: head(GPTConfig(**PLACED))(IDS[0])
        yield f"{head.__name__}: no rows", lambda head=head: head(GPTConfig(**PLACED))(IDS[:0])
    packing = Packing.of(torch.tensor([0, 3, 4], dtype=torch.int32))
    for name in ("bert", "masked lm", "modernbert"):
        yield (
            f"{name}: a packing of two rows",
            lambda model=ENCODERS[name]: model(IDS, packing=packing),
        )
        yield (
            f"{name}: a packing and a mask",
            lambda model=ENCODERS[name]: model(
                IDS[:1], mask=torch.ones(1, 4).bool(), packing=packing
            ),
        )


def tell(call) -> list[str]:
    """The kind of error that a call ends in, and its words."""
    try:
        return ["nothing", repr(call())[:60]]
    except Exception as error:  # which one is the question
        return [type(error).__name__, str(error)]


if __name__ == "__main__":
    print(json.dumps({name: tell(call) for name, call in cases()}))
