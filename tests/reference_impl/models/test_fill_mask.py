"""Filled blanks against transformers' fill-mask pipeline, on a tiny random BERT."""

import pytest
import torch
import transformers

from reference_impl.layers.checks import ModelInputError
from reference_impl.models.bert import BertForMaskedLM
from reference_impl.models.fill_mask import fill_mask
from reference_impl.weights.pretrained import config_from, load_hugging_face

WORDS = [
    "[PAD]",
    "[UNK]",
    "[CLS]",
    "[SEP]",
    "[MASK]",
    *"the a river bank lends money to of has by water boat".split(),
]
MASK = WORDS.index("[MASK]")
TEXTS = ["the [MASK] of a river", "[MASK] bank lends [MASK] to the boat"]


@pytest.fixture(scope="module")
def pipeline(tmp_path_factory):
    vocabulary = tmp_path_factory.mktemp("vocabulary") / "vocab.txt"
    vocabulary.write_text("\n".join(WORDS))
    config = transformers.BertConfig(
        vocab_size=len(WORDS),
        hidden_size=12,
        num_hidden_layers=2,
        num_attention_heads=3,
        intermediate_size=17,
        max_position_embeddings=20,
    )
    torch.manual_seed(0)
    model = transformers.BertForMaskedLM(config).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.randn_like(parameter) * 0.5)
    return transformers.pipeline(
        "fill-mask", model=model, tokenizer=transformers.BertTokenizer(str(vocabulary))
    )


@pytest.fixture(scope="module")
def ours(pipeline):
    theirs = pipeline.model
    model = BertForMaskedLM(
        config_from(BertForMaskedLM.config_class, theirs.config.to_dict())
    ).eval()
    load_hugging_face(model, theirs.state_dict())
    return model


def test_tokens_probabilities_and_filled_texts_are_the_pipelines(pipeline, ours):
    rows = [pipeline.tokenizer(text)["input_ids"] for text in TEXTS]
    longest = max(map(len, rows))
    ids = torch.tensor([row + [0] * (longest - len(row)) for row in rows])
    mask = torch.arange(longest) < torch.tensor([len(row) for row in rows])[:, None]
    found = fill_mask(ours, ids, MASK, mask, count=4)
    assert [len(blanks) for blanks in found] == [1, 2]
    for text, row, blanks in zip(TEXTS, rows, found):
        expected = pipeline(text, top_k=4)
        expected = expected if isinstance(expected[0], list) else [expected]
        for blank, wanted in zip(blanks, expected, strict=True):
            assert [filling.token for filling in blank] == [choice["token"] for choice in wanted]
            assert [filling.probability for filling in blank] == pytest.approx(
                [choice["score"] for choice in wanted]
            )
        places = [place for place, token in enumerate(row) if token == MASK]
        for place, blank in zip(places, blanks, strict=True):
            for filling in blank:
                assert filling.text[: len(row)] == [*row[:place], filling.token, *row[place + 1 :]]


@pytest.mark.usefixtures("as_students_run_it")
def test_a_text_without_a_blank_and_more_tokens_than_there_are_are_refused(ours):
    with pytest.raises(ModelInputError, match=f"a text without a mask: put {MASK}"):
        fill_mask(ours, torch.tensor([[2, MASK, 3], [2, 5, 3]]), MASK)
    with pytest.raises(ModelInputError, match="99 tokens wanted of a vocabulary of 17"):
        fill_mask(ours, torch.tensor([[2, MASK, 3]]), MASK, count=99)
