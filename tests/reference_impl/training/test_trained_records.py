"""The committed records of bench/trained say what the course claims of its trained models; each
script explains itself.

Nothing is trained here: a record is made by its script and committed.
"""

import json
import os
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

from reference_impl.measure.scaling_law import ScalingLaw

BENCH = Path(__file__).resolve().parents[3] / "bench"
SCRIPTS = sorted(
    path
    for path in (BENCH / "trained").glob("*.py")
    if path.name != "all.py" and "__main__" in path.read_text()
)
RUN_ALL = """
import runpy, sys
for script in sys.argv[1:]:
    sys.path[0], sys.argv = script.rpartition("/")[0], [script, "--help"]
    try:
        runpy.run_path(script, run_name="__main__")
    except SystemExit as end:
        assert end.code == 0, script
    else:
        raise AssertionError(f"{script} went on after --help")
"""


def record(name: str) -> dict:
    """The record of one script; every script has one."""
    return json.loads((BENCH / "results" / f"trained_{name}.json").read_text(encoding="utf-8"))


def test_the_gpt_has_at_most_1_75_bits_per_byte_and_fewer_than_the_bigram():
    bits = record("gpt")["bits_per_byte"]
    assert bits["GPT"] <= 1.75
    assert bits["GPT"] < bits["2-gram, Kneser-Ney"] - 0.1


def test_bert_fills_blanks_clearly_better_than_a_unigram_and_a_bigram():
    found = record("bert")["at_blanks"]
    for rival in ("unigram", "bigram"):
        assert found["BERT"]["nats"] < found[rival]["nats"] - 0.2, rival
        assert found["BERT"]["accuracy"] > found[rival]["accuracy"] + 0.02, rival


def test_a_fine_tuned_encoder_is_above_its_frozen_vectors_and_naive_bayes():
    found = record("sentiment")["accuracy"]
    assert found["fine-tuned"] > max(found["frozen vectors"], found["naive Bayes"], 0.777, 0.772)


def test_all_layers_are_above_the_head_alone_in_each_draw_and_random_weights_are_near_chance():
    found = record("finetuning")
    tuned, untrained = found["runs"]["all layers"], found["untrained"]
    assert set(tuned) == set(untrained) == {str(seed) for seed in found["seed"]} and len(tuned) >= 5
    assert all(run["accuracy"] > untrained[seed]["head alone"] for seed, run in tuned.items())
    assert abs(found["accuracy"]["random weights"]["mean"] - 0.5) < 0.06
    assert all(len({run["steps"] for run in way.values()}) == 1 for way in found["runs"].values())


def test_spelling_is_read_better_than_by_the_tables_of_letters():
    found = record("spelling")["held_out"]
    assert found["model"]["exact"] > max(
        row["exact"] for name, row in found.items() if name != "model"
    )


def test_the_transformer_was_given_the_words_steps_and_schedule_of_the_lstm_and_spells_nearly_as_well_for_less():  # noqa: E501
    mine, theirs = record("spelling_transformer"), record("spelling")
    assert mine["words"] == theirs["words"] and mine["settings"] == theirs["settings"]
    assert mine["held_out"]["LSTM with attention"] == theirs["held_out"]["model"]
    assert (
        abs(mine["held_out"]["Transformer"]["exact"] - theirs["held_out"]["model"]["exact"]) < 0.1
    )
    assert mine["parameters"] < theirs["parameters"]
    assert mine["gigaflops_a_step"]["Transformer"] < mine["gigaflops_a_step"]["LSTM with attention"]


def test_the_cut_table_of_n_grams_stays_closer_to_the_whole_one_than_to_pairs_alone():
    bits = record("ngrams")["bits_per_byte"]
    assert bits["nothing cut"] < bits["table"] < (bits["nothing cut"] + bits["pairs alone"]) / 2


def test_half_precision_costs_the_vectors_nothing_that_word_similarity_shows():
    found = record("vectors")["wordsim353"]
    assert (
        abs(found["half precision"]["wordsim353"] - found["single precision"]["wordsim353"]) < 0.002
    )


def test_the_readers_of_both_sides_tell_senses_that_the_same_readers_untrained_do_not():
    found = record("elmo")
    assert found["held_out"]["nats"]["forward"] < found["held_out"]["nats"]["frequency alone"] - 0.5
    for pair in found["senses"].values():
        assert pair["layer 0"]["mean"] == 0.5  # one vector for one spelling
        assert pair["layer 1"]["mean"] > pair["untrained, layer 1"]["high"] + 0.05


def test_readers_of_both_directions_know_the_answer_where_it_was_given_and_not_where_it_was_not():
    found = record("peeking")["found"]
    for layers in ("1 layer", "2 layers"):
        one, both = (
            found[f"{words}, {layers}"]["nats"] for words in ("one direction", "both directions")
        )
        assert max(both["before the last place"]) < 0.5 < 4 < min(one["before the last place"])
        assert min(both["at the last place"]) > 4


def test_distances_help_at_the_length_of_training_and_only_a_bias_that_fades_or_four_terms_carry_them_beyond_it():  # noqa: E501
    found = {
        kind: {length: sum(runs) / len(runs) for length, runs in one["nats"].items()}
        for kind, one in record("positions")["found"].items()
    }
    for kind in ("T5", "Transformer-XL", "ALiBi", "RoPE"):
        assert (
            found[kind]["64"]
            < min(found[other]["64"] for other in ("none", "learned", "sinusoidal")) - 0.1
        ), kind
    for kind in ("ALiBi", "Transformer-XL"):
        assert abs(found[kind]["512"] - found[kind]["64"]) < 0.05, kind
    for kind in ("T5", "RoPE"):
        assert found[kind]["512"] > found[kind]["64"] + 0.1, kind


def test_a_modernbert_with_local_layers_reads_on_where_its_global_twin_breaks():
    found = {
        kind: {length: sum(runs) / len(runs) for length, runs in one["bits"].items()}
        for kind, one in record("modernbert")["found"].items()
    }
    assert (
        found["alternating"]["768"]
        < found["alternating"]["96"]
        < record("modernbert")["by_counts"]["both neighbours"]["bits"] - 0.5
    )
    assert found["all global"]["768"] > found["all global"]["96"] + 1
    assert abs(found["all global"]["96"] - found["alternating"]["96"]) < 0.2


def test_two_layers_copy_a_repeated_sequence_by_an_induction_head_and_one_layer_does_not():
    runs = record("induction")["runs"]
    two, one = ([run for run in runs if run["layers"] == layers] for layers in (2, 1))
    assert len(two) == len(one) >= 1
    for run in two:
        assert run["second"] < run["first"] / 4 and max(run["prefix_matching"][1]) > 0.4
    for run in one:
        assert run["second"] > run["first"] / 2 and max(run["prefix_matching"][0]) < 0.2


def test_make_train_runs_every_script():
    run = runpy.run_path(str(BENCH / "trained" / "all.py"))["SCRIPTS"]
    assert sorted(run) == [path.stem for path in SCRIPTS]


def test_dpo_moves_the_preference_on_pairs_that_were_held_out():
    found = record("dpo")
    assert found["after"]["agreement"] > found["before"]["agreement"]
    assert found["after"]["mean_tokens_of_a_verse"] < found["before"]["mean_tokens_of_a_verse"]


def test_lora_trains_fewer_numbers_than_full_fine_tuning_and_both_learn_the_new_domain():
    ways = record("adapt")["ways"]
    for name, way in ways.items():
        if name.startswith("LoRA"):
            assert way["trained_parameters"] < ways["all weights"]["trained_parameters"]
        if name not in ("before", "from nothing"):
            assert (
                way["bits_per_byte"]["definitions"] < ways["before"]["bits_per_byte"]["definitions"]
            )


def test_electra_and_the_masked_language_model_spent_the_same_number_of_operations():
    found = record("electra")["found"]
    spent = {
        name: found[name]["steps"] * found[name]["gigaflops_a_step"]
        for name in ("masked LM", "ELECTRA")
    }
    assert spent["ELECTRA"] == pytest.approx(spent["masked LM"], rel=0.01)
    assert set(found["ELECTRA"]["probes"]) == set(found["before training"]["probes"])


def test_a_discriminator_tells_replaced_tokens_only_if_it_begins_as_a_bert_and_then_its_vectors_tell_exchanged_neighbours():  # noqa: E501
    found = record("electra_stages")
    assert max(found["joint"].values()) < 0.55
    spent = {
        way: found["steps"][way] * found["megaflops_a_step"][way] for way in ("replaced", "masked")
    }
    assert spent["replaced"] == pytest.approx(spent["masked"], rel=0.01)
    for run in found["runs"]:
        assert min(run["probe"]) > 0.7 if run["way"] == "replaced" else max(run["probe"]) < 0.6
    assert max(found["probes"]["counts of tokens"]) < 0.53


def test_the_longer_gpt_is_the_same_model_with_other_counts_of_steps_and_is_measured_beside_the_same_counts():  # noqa: E501
    longer, shorter = record("gpt_longer"), record("gpt")
    assert (
        longer["parameters"] == shorter["parameters"] and longer["held_out"] == shorter["held_out"]
    )
    assert (
        longer["steps_done"]
        == longer["steps"]
        == longer["curve"][-1]["step"]
        == longer["training"][-1][0]
    )
    for order in ("2", "3", "4"):
        assert longer["counts"][f"{order}-gram"] == pytest.approx(
            shorter["bits_per_byte"][f"{order}-gram, Kneser-Ney"], abs=1e-3
        )
    assert longer["curve"][-1]["bits_per_byte"] < shorter["bits_per_byte"]["GPT"] - 0.05


def test_the_largest_run_of_the_ladder_is_larger_and_longer_than_all_that_foretold_it():
    found = record("ladder")
    cells = {(row["parameters"], row["tokens"]) for row in found["grid"]}
    assert len(cells) == 9 and len(found["grid"]) == 9 * len(found["seed"])
    assert len({row["rate"] for row in found["grid"] + found["largest"]}) == 1
    for name in ("parameters", "tokens"):
        assert all(
            row[name] == found["law"]["of"][name] > max(size[name] for size in found["grid"])
            for row in found["largest"]
        )
    law = ScalingLaw(**found["law"]["law"])
    foretold = law.loss(
        float(found["law"]["of"]["parameters"]), float(found["law"]["of"]["tokens"])
    )
    assert foretold == pytest.approx(found["law"]["foretold"]["parameters"], abs=2e-3)


def test_the_head_of_gpt_1_learns_from_the_draws_that_counts_of_words_learned_from():
    found, others = record("gpt_head"), record("finetuning")
    assert found["snippets"] == others["snippets"]
    for seed, run in found["beside"]["naive Bayes"].items():
        assert run == pytest.approx(others["untrained"][seed]["naive Bayes"], abs=1e-9)
    assert all(set(some) == set(map(str, found["seed"])) for some in found["runs"].values())


def test_every_place_that_is_asked_counts_and_fewer_asked_places_leave_a_higher_loss():
    found = record("asked_share")["runs"]
    of = {
        share: [
            row
            for row in found
            if row["share"] == share and row["steps"] == max(one["steps"] for one in found)
        ]
        for share in (0.15, 0.4, 1.0)
    }
    for share, rows in of.items():
        assert all(row["asked"] == pytest.approx(share * row["tokens"], rel=0.02) for row in rows)
    mean = {share: sum(row["nats"] for row in rows) / len(rows) for share, rows in of.items()}
    assert mean[1.0] < mean[0.15] - 0.1


def test_reinforcement_teaches_the_capstones_model_to_work_sums_out_and_costs_little_else():
    found = record("capstone")["lowest"]
    before, after = found["tune"], found["reinforce"]
    assert before["sums"] < 0.7 and after["sums"] > 0.9
    assert after["sums, temperature 0.5"] > before["sums, temperature 0.5"] + 0.2
    for kept in ("character", "reversing"):
        assert after[kept] > max(0.8, before[kept] - 0.05), kept
    assert max(found["pretrain"].values()) < 0.1  # before tuning it answers nothing


@pytest.mark.parametrize("name", [path.stem for path in SCRIPTS])
def test_a_record_names_its_seed_its_versions_and_the_machine_with_its_load(name: str):
    found = record(name)
    assert "load" in found["machine"] and found["versions"]["python"]
    if name != "vocabularies":  # which counts, without torch, and draws nothing
        assert found["versions"]["torch"]
        assert {"seed", "seeds"} & set(found) or "seed" in found["settings"]


def test_every_script_explains_itself_and_trains_nothing_when_asked_for_help():
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", RUN_ALL, *map(str, SCRIPTS)],
        capture_output=True,
        text=True,
        env=environment,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.count("usage:") == len(SCRIPTS)
