"""Names both ways."""
import pytest
import torch

from reference_impl.weights.names import Names
from reference_impl.weights.safetensors_files import WeightsError

NAMES = Names({"embedding": "wte", "blocks.*.up": "h.*.mlp.c_fc", "blocks.*.parts.*.norm": "h.*.p.*.ln", "table": "t"},
              frozenset({"blocks.*.up"}), {"second.weight": "wte.weight"})
OURS = {"embedding.weight": torch.ones(5, 2), "blocks.10.up.weight": torch.arange(6.0).view(2, 3),
        "blocks.10.up.bias": torch.zeros(2), "blocks.3.parts.7.norm.weight": torch.ones(1), "table": torch.ones(2)}


def test_names_go_there_and_come_back_with_their_numbers_and_matrices_turned():
    theirs = NAMES.to_theirs(OURS)
    assert {name: tuple(tensor.shape) for name, tensor in theirs.items()} == {
        "wte.weight": (5, 2), "h.10.mlp.c_fc.weight": (3, 2), "h.10.mlp.c_fc.bias": (2,), "h.3.p.7.ln.weight": (1,),
        "t": (2,), "second.weight": (5, 2)}
    back = NAMES.to_ours(theirs)
    assert back.keys() == OURS.keys() and all(torch.equal(back[name], OURS[name]) for name in OURS)


def test_one_of_two_names_is_enough():
    assert set(NAMES.to_ours({"second.weight": torch.ones(5, 2)})) == {"embedding.weight"}


def test_a_name_of_files_is_read_and_not_written():
    names = Names({"output": "lm_head"}, files={"embed_out.weight": "lm_head.weight"})
    assert set(names.to_ours({"embed_out.weight": torch.ones(1)})) == {"output.weight"}
    assert set(names.to_theirs({"output.weight": torch.ones(1)})) == {"lm_head.weight"}


def test_computed_tables_of_old_files_are_left_and_biases_are_not():
    old = {"embeddings.position_ids": torch.ones(1), "h.0.attn.bias": torch.ones(1),
           "h.0.attn.masked_bias": torch.ones(1), "model.rotary_emb.inv_freq": torch.ones(1)}
    assert NAMES.to_ours(old) == {}
    assert set(Names({"qkv": "attn.c_attn"}).to_ours({"attn.c_attn.bias": torch.ones(1)})) == {"qkv.bias"}


@pytest.mark.parametrize("name", ["wtf.weight", "h.x.mlp.c_fc.weight", "h.1.mlp.c_fc.weight.more", "awte.weight",
                                  "h.1.mlp"])
def test_a_name_that_no_entry_fits_is_refused(name):
    with pytest.raises(WeightsError, match="is no parameter of this model"):
        NAMES.to_ours({name: torch.ones(1)})


def test_the_names_of_a_part_are_below_its_name():
    inside = NAMES.inside("bert", "model.bert", {"head": "cls"})
    assert inside.to_theirs({"bert.blocks.2.up.weight": torch.ones(2, 3), "head.bias": torch.ones(1)}).keys() == {
        "model.bert.h.2.mlp.c_fc.weight", "cls.bias"}
    assert set(inside.to_ours({"model.bert.second.weight": torch.ones(5, 2)})) == {"bert.embedding.weight"}
