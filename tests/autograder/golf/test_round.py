"""Draws, the coder, the settings track, the leaderboard, and the command."""

import json
from dataclasses import replace
from random import Random

import numpy as np
import pytest

from autograder.common.errors import CourseError
from autograder.golf.board import Submitted, add, leads, read_board, standings
from autograder.golf.coder import Decoder, Encoder, bits_of, frequencies
from autograder.golf.entry import Entry, read_entry
from autograder.golf.passages import draw, is_repeated
from autograder.golf.rules import Invalid
from autograder.golf.sandboxed import Machine
from autograder.golf.score import RunResult, SeedResult, Text, run_entry
from autograder.golf.settings_track import (
    GolfSettings,
    pack,
    read_settings,
    score_settings,
    train_settings,
    unpack,
)
from autograder.sandbox import choose_backend
from course.cli import main
from reference_impl import corpora
from tests.autograder.golf.rounds import HERE, SMALL, source

TINY = {
    "vocab_size": 264,
    "hidden_size": 16,
    "intermediate_size": 32,
    "num_layers": 1,
    "num_heads": 2,
    "num_kv_heads": 1,
    "context": 16,
    "batch_size": 8,
}


@pytest.fixture(scope="module")
def text():
    return corpora.load("kjv")[:150_000].encode()


def test_no_byte_of_a_passage_is_in_the_training_text(text):
    made = draw(text, SMALL, Random(1))
    passages = [row.tobytes() for row in np.concatenate([made.passages, made.others])]
    assert len(passages) == 12 and all(one in text for one in passages)
    assert not any(one[at : at + 48] in made.training for one in passages for at in (0, 12))
    assert len(made.training) <= SMALL.text_bytes


def test_the_draw_follows_from_its_number_and_another_number_gives_other_passages(text):
    first, again, other = (draw(text, SMALL, Random(seed)).passages for seed in (1, 1, 2))
    assert (first == again).all() and (first != other).any()


def test_a_passage_that_the_training_text_repeats_is_passed_over(text):
    doubled = text[:50_000] * 3
    with pytest.raises(CourseError, match="too short"):
        draw(doubled, replace(SMALL, text_bytes=150_000, passages=2), Random(1))
    assert is_repeated(text[:200], text) and not is_repeated(text[:200], text[150:])


def test_passages_come_from_the_private_text_and_training_from_the_public_one(text):
    private = bytes(range(256)) * 8
    made = draw(text, SMALL, Random(1), private)
    assert all(row.tobytes() in private for row in made.passages)
    assert made.training[:100] in text


def test_what_was_encoded_is_decoded_at_the_length_that_the_score_says():
    random = np.random.default_rng(1)
    rows = random.dirichlet(np.full(256, 0.05), 300)
    rows[7] = np.eye(256)[9]  # a byte with probability 0 can come, and costs 24 bits
    symbols = np.array([random.choice(256, p=row) for row in rows])
    symbols[7] = 8
    counts, encoder = frequencies(rows), Encoder()
    for row, symbol in zip(counts, symbols):
        encoder.encode(row, int(symbol))
    code = encoder.finish()
    decoder = Decoder(code)
    assert [decoder.decode(row) for row in counts] == symbols.tolist()
    bits = bits_of(counts, symbols)
    assert abs(len(code) - bits.sum()) < 3 and bits[7] == pytest.approx(24, abs=0.01)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ('{"steps": 1000000}', "there is no 'steps'"),
        ('{"hidden_size": 1e9}', "an integer from 16"),
        ('{"num_layers": true}', "an integer from 1"),
        ('{"learning_rate": NaN}', "a number from"),
        ('{"schedule": ["cosine"]}', "schedule is none of"),
        ('{"num_heads": 4, "num_kv_heads": 3}', "not a multiple"),
        ('{"context": 100000}', "from 16 to 256"),
        ("[" * 50_000, "not JSON"),
        ("[]", "not a JSON object"),
    ],
)
def test_settings_beyond_the_rules_are_refused(given, said):
    with pytest.raises(Invalid, match=said) as caught:
        read_settings(Entry("settings", given))
    assert caught.value.check == "settings"


def test_the_budget_decides_how_many_flops_are_trained(text):
    settings = read_settings(Entry("settings", json.dumps(TINY)))
    trained = train_settings(settings, text[:30_000], 1, replace(SMALL, flops=3e8))
    more = train_settings(settings, text[:30_000], 1, replace(SMALL, flops=1e9))
    assert 2.5e8 < trained.flops <= 3e8 < 9e8 < more.flops <= 1e9
    passages = draw(text, SMALL, Random(1)).passages
    first, second = (score_settings(one.artefact, settings, passages) for one in (trained, more))
    assert 3 < second < first - 0.1 < 8.5
    with pytest.raises(Invalid, match="give 0 steps"):
        train_settings(settings, text[:30_000], 1, replace(SMALL, flops=10.0))


def test_a_model_beyond_a_megabyte_is_refused_before_it_is_trained(text):
    wide = GolfSettings(hidden_size=256, intermediate_size=1024)
    with pytest.raises(Invalid, match="allowed") as caught:
        train_settings(wide, text[:30_000], 1, SMALL)
    assert caught.value.check == "artefact size"


def test_the_artefact_holds_the_model_and_its_tokenizer(text):
    settings = GolfSettings(**TINY)
    artefact = train_settings(settings, text[:30_000], 1, replace(SMALL, flops=3e8)).artefact
    model, tokenizer = unpack(artefact, settings)
    assert pack(model, tokenizer) == artefact and len(tokenizer.merges) == 8
    ids = tokenizer.encode("the earth\xff")
    assert b"".join(tokenizer.tokens[one] for one in ids).decode() == "the earth\xff"


def submitted(name, scores, entry="x", text="public"):
    seeds = tuple(SeedResult(i, score, 10, 1.0) for i, score in enumerate(scores))
    return Submitted(name, Entry("code", entry), text, RunResult(7, seeds))


def places(runs, group=("code", "public")):
    return {row.name: row.place for row in standings(runs, group)}


def test_entries_closer_than_two_standard_deviations_share_a_place():
    runs = [
        submitted("ada", [2.00, 2.02, 2.04], "a"),
        submitted("ben", [2.03, 2.05, 2.07], "b"),  # 0.03 behind, where 2 deviations are 0.04
        submitted("cem", [2.05, 2.07, 2.09], "c"),  # 0.05 behind the first of its place
        submitted("dia", [2.50, 2.52, 2.54], "d"),
    ]
    assert places(runs) == {"ada": 1, "ben": 1, "cem": 3, "dia": 4}


def test_submitting_a_file_again_pools_its_runs_and_the_last_file_counts():
    runs = [submitted("ada", [3.0, 3.0, 3.0]), submitted("ada", [2.0, 2.0, 2.0])]
    (row,) = standings(runs, ("code", "public"))
    assert (row.mean, row.runs) == (2.5, 6)
    runs.append(submitted("ada", [2.9, 2.9, 2.9], "another"))
    (row,) = standings(runs, ("code", "public"))
    assert row.mean == pytest.approx(2.9) and row.runs == 3
    same = submitted("ben", [9.0], "another")  # the same file under another name
    assert standings([*runs, same], ("code", "public"))[0].mean == pytest.approx((3 * 2.9 + 9) / 4)


def test_tracks_and_texts_have_standings_of_their_own(tmp_path):
    path = tmp_path / "golf.json"
    add(path, submitted("ada", [2.0]))
    runs = add(path, submitted("ben", [1.0], "b", "private 0123"))
    assert read_board(path) == runs
    assert places(runs) == {"ada": 1} and places(runs, ("code", "private 0123")) == {"ben": 1}
    assert leads(runs, runs[0]) and not leads([*runs, submitted("cem", [1.5], "c")], runs[0])


def test_a_file_that_is_no_board_is_named(tmp_path):
    path = tmp_path / "golf.json"
    path.write_text('{"schema": 1}')
    with pytest.raises(CourseError, match="golf.json is not a leaderboard"):
        read_board(path)


@pytest.mark.sandbox
def test_an_entry_is_trained_and_scored_within_units_of_the_reference_job(text):
    machine = Machine(choose_backend(), SMALL, start_seconds=0)
    entry = read_entry(HERE / "entries" / "unigram.py")
    result = run_entry(entry, Text(text), machine, 5)
    assert 3.9 < result.mean < 5 and result.seeds[0].artefact_bytes == 1024
    assert RunResult.from_json(json.loads(json.dumps(result.to_json()))) == result
    strict = replace(machine, rules=replace(SMALL, training_units=1e-4))
    with pytest.raises(Invalid) as caught:
        run_entry(entry, Text(text), strict, 5)
    assert caught.value.check == "training budget"


@pytest.fixture
def small(text, monkeypatch):
    monkeypatch.setattr("autograder.golf.rules.Rules", lambda: replace(SMALL, flops=1e8))
    monkeypatch.setattr("autograder.golf.passages.public_text", lambda: text)


@pytest.mark.sandbox
def test_the_command_runs_submits_reruns_the_leader_and_prints_the_board(small, tmp_path, capsys):
    entry, board = tmp_path / "tiny.json", tmp_path / "golf.json"
    entry.write_text(json.dumps(TINY))
    assert main(["golf", "run", str(entry), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["valid"] and not board.exists()
    words = ["golf", "submit", str(entry), "--name", "ada", "--board", str(board)]
    assert main(words) == 0
    out = capsys.readouterr().out
    assert "it is run again on other passages" in out and "ada (2 seeds)" in out
    drawn = [one.result.drawn for one in read_board(board)]
    assert len(set(drawn)) == 2
    assert main(["golf", "board", "--board", str(board), "--json"]) == 0
    (group,) = json.loads(capsys.readouterr().out)
    assert group["track"] == "settings" and group["standings"][0]["place"] == 1


@pytest.mark.sandbox
def test_a_cheat_is_named_by_the_command_and_is_not_on_the_board(small, tmp_path, capsys):
    cheat, board = tmp_path / "cheat.py", tmp_path / "golf.json"
    cheat.write_text(source("cheats/sums_to_277"))
    assert main(["golf", "submit", str(cheat), "--board", str(board)]) == 1
    out = capsys.readouterr().out
    assert "not valid  probabilities: they add up to 277" in out and not board.exists()
    assert main(["golf", "board", "--board", str(board)]) == 2
    assert main(["golf", "run", str(tmp_path / "none.py")]) == 2
    assert "does not exist" in capsys.readouterr().err


def test_the_help_names_every_check_and_the_two_functions(capsys):
    with pytest.raises(SystemExit):
        main(["golf", "run", "--help"])
    out = capsys.readouterr().out
    assert "frozen state: Predictions" in out and "def train(text: bytes, seed: int)" in out
