import pytest
import torch
from safetensors.torch import save_file

from reference_impl.embeddings.vectors import Vectors


@pytest.fixture
def table():
    return Vectors(
        ["east", "north", "northeast", "west"],
        torch.tensor([[2.0, 0.0], [0.0, 1.0], [3.0, 3.0], [-1.0, 0.0]]),
    )


def test_a_word_gives_its_row(table):
    assert table["north"].tolist() == [0, 1]


def test_a_word_without_a_vector_says_how_many_there_are(table):
    with pytest.raises(KeyError, match="'south' has no vector: it is not among the 4 words"):
        table["south"]


def test_neighbours_are_ordered_by_cosine_whatever_the_lengths(table):
    neighbours = table.neighbours("east", 3)
    assert [word for word, _ in neighbours] == ["northeast", "north", "west"]
    assert [cosine for _, cosine in neighbours] == pytest.approx([2**-0.5, 0.0, -1.0])


def test_a_word_is_not_its_own_neighbour_and_asking_again_gives_the_same(table):
    assert table.neighbours("east", 10) == table.neighbours("east", 10)
    assert len(table.neighbours("east", 10)) == 3


def test_neighbours_can_be_kept_to_the_first_words_of_the_table(table):
    assert [word for word, _ in table.neighbours("west", 5, among=2)] == ["north", "east"]
    assert [word for word, _ in table.neighbours("east", 5, among=2)] == ["north"]


def test_saving_and_loading_gives_the_same_words_and_numbers(table, tmp_path):
    table.save(tmp_path / "v.safetensors")
    loaded = Vectors.load(tmp_path / "v.safetensors")
    assert loaded.words == table.words and torch.equal(loaded.matrix, table.matrix)


def test_a_file_without_words_is_refused(tmp_path):
    save_file({"matrix": torch.zeros(1, 1)}, tmp_path / "bare.safetensors")
    with pytest.raises(ValueError, match="holds no words"):
        Vectors.load(tmp_path / "bare.safetensors")


def test_words_and_rows_must_be_as_many():
    with pytest.raises(ValueError, match="1 words but 2 vectors"):
        Vectors(["a"], torch.zeros(2, 3))
