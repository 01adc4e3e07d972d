"""What two models write on one prompt, as the figure gets it."""

import pytest

from course.book.pages.figure_data.adapted import before_after, in_words, one
from reference_impl.corpora.small_models import small_model


class Letters:
    """A tokenizer whose ids are letters."""

    @staticmethod
    def decode(ids):
        return "".join(chr(97 + id) for id in ids)


@pytest.mark.parametrize(
    "ids, words",
    [([], ""), ([0, 1], "ab"), ([0, 9, 1], "a<e>b"), ([9, 9], "<e><e>"), ([8, 2], "<s>c")],
)
def test_ids_that_a_tokenizer_does_not_have_are_written_by_name(ids, words):
    assert in_words(ids, Letters(), {8: "<s>", 9: "<e>"}) == words


def test_an_answer_ends_before_its_end_and_says_so():
    line = small_model("gpt_kjv").tokenizer.encode("\n")
    data = before_after(
        [
            one("verse", "to the end", "gpt_kjv", stop=line[0], before=line),
            one("cut", "cut off", "gpt_kjv", before=line),
        ],
        ["Which bank lends money?"],
        most=30,
        temperature=0.0,
    )
    written = data["examples"][0]["written"]
    assert written["cut"]["tokens"] == 30 and not written["cut"]["ended"]
    assert written["verse"]["ended"] and "\n" not in written["verse"]["text"]
    assert written["cut"]["text"].startswith(written["verse"]["text"] + "\n")
