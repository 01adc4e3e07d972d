"""Figures in prose: found, and covered by a claim, a computed value, a citation or a declaration;
else named with the remedy.
"""

import pytest

from course.book.lint.prose import findings_of, prose_findings
from tests.book.conftest import ROOT

CELL = "\n\n```{code-cell} python\n%s\n```\n"


def found(text):
    return findings_of("# Page\n\n" + text, "page.md")


@pytest.mark.parametrize(
    "sentence",
    [
        "The score is 0.61.",
        "It reaches 40 %.",
        "Most pairs never met.",
        "Half of the words are rare.",
        "Skip-gram is better than CBOW.",
        "GloVe comes last.",
        "Fewer words remain.",
        "The tree is a thousand times cheaper.",
        "It costs twice as much.",
        "Both curves rise.",
        "Hardly any pair reaches the cap.",
        "So $x = 3$.",
        "Then $$ x \\approx 0.75 . $$",
        "Nearly all of it is noise.",
        "The loss falls.",
        "Two thirds are right.",
        "- An item with 17 words.",
        "> A quotation of 12 words.",
        "| a | 5 |\n| --- | --- |\n| b | 6 |",
    ],
)
def test_a_sentence_with_a_figure_and_nothing_behind_it_is_named(sentence):
    (finding,) = found(sentence)
    assert finding.startswith("page.md:3: ") and "add claim(...)" in finding


@pytest.mark.parametrize(
    "sentence",
    [
        "Words are counted.",
        "WordSim-353 has pairs.",
        "See section 3 and chapter 4.",
        "GPT-2 reads tokens.",
        "At most one of them.",
        "The first of two roads.",
        "word2vec and 3CosAdd are names.",
        "Rather than wait, go.",
        "Run `x = 3` now.",
        "It was found in 2013.",
        "The sum $\\sum_{k=1}^{K} x_k$ is taken.",
        "A table of $V^2$ cells.",
    ],
)
def test_names_and_plain_words_are_no_figures(sentence):
    assert found(sentence) == []


def test_a_claim_covers_the_sentences_that_it_quotes_and_no_others():
    text = (
        "The score is *really* 0.61. That is 3 more." + CELL % 'claim("score is really 0.61", True)'
    )
    (finding,) = found(text)
    assert "'That is 3 more.'" in finding
    assert found(text.replace('really 0.61"', 'really 0.61. That is 3 more"')) == []


def test_a_claim_that_quotes_nothing_of_the_page_is_named():
    (finding,) = found("Words." + CELL % 'x = 1\nclaim("the score is 0.61", True)')
    assert finding.startswith("page.md:7: the claim 'the score is 0.61' is not what the page says")


@pytest.mark.parametrize(
    "support",
    ["{glue:text}`score`", "{counted}`points 01`", "{cite}`levy2015`", "{cite:t}`hill2015`"],
)
def test_a_computed_value_or_a_source_covers_its_own_sentence(support):
    assert found(f"The score of 3 lists is {support}.") == []
    assert len(found(f"Here is {support}. The score is 3.")) == 1


@pytest.mark.parametrize(
    "begins",
    ["word2vec scores 7.", "`svd` has 7 columns.", "7 pairs are missing.", "iPhones sold 7 times."],
)
def test_a_sentence_may_begin_with_a_lower_case_word_code_or_a_number_and_needs_its_own_support(
    begins,
):
    (finding,) = found(f"The list is {{cite}}`hill2015`. {begins}")
    assert finding.endswith("above the paragraph") and repr(begins)[1:-1] in finding


def test_an_abbreviation_inside_a_sentence_does_not_end_it():
    assert found("The scores of Hill et al. are 3 higher {cite}`hill2015`.") == []


def test_what_the_page_chooses_is_declared_above_the_paragraph():
    assert found("% given\nTake 3 words. Then 4 more.") == []
    assert len(found("% given: Take\nTake 3 words. Then 4 more.")) == 1
    assert len(found("% given\nTake 3 words.\n\nThe score is 4.")) == 1


def test_captions_and_texts_of_figures_are_prose_too():
    assert len(found(CELL % 'picture(x, caption="It has 40 words.", alt="Two curves.")')) == 1
    assert found(CELL % 'picture(x, caption=f"It has {n} words.", alt="Two curves.")') == []


def test_a_page_may_be_left_out_by_name():
    assert findings_of("---\nprose: unchecked\n---\n\nIt is 3.", "page.md") == []


def test_everything_in_the_book_is_supported():
    assert prose_findings(ROOT / "book") == []
