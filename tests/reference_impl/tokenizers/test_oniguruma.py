"""Expressions written for Oniguruma: what they match there, they match here, or they are
refused.
"""

import pytest
from tokenizers import Regex, pre_tokenizers

from reference_impl.tokenizers.oniguruma import compiled
from reference_impl.tokenizers.oniguruma_classes import ranges
from reference_impl.tokenizers.text_normalizers import spans
from reference_impl.tokenizers.vocabulary import TokenizerError
from tests.reference_impl.tokenizers.oniguruma_table import TEXT, taken

TEXTS = [
    "Ab1 22,333 4444444! a\nb\r\n  c$",
    "don't DON'T \u017f stood\u2028x",
    "caf\u00e9 e\u0301 \u65e5\u672c\u3002ok (x|y)",
    "aabbab --[x]-- 0xFF",
    "",
]
SAME = [
    r"\p{N}{1,3}+",
    r"^\w+|\w$",
    r"(\w)\1",
    "[[:punct:]]+|[[:alpha:]#]",
    r"\h{2}",
    r"(?i)dON|(?-i:A)",
    r"(?=[A-Z])",
    r" ?[^(\s|[.,!?\u2026\u3002\uff0c])]+",
    r"[^\r\n\p{L}\p{N}]?\p{L}+",
    r"\s+(?!\S)|\s+",
    r"a{,2}b|c{1}",
    "a.b|\u65e5?+",
    r"\x41|\u65e5|\x{62}",
    r"(?<=b)a|(?<!a)b|(?>a+)b",
    r"\A.|.\z",
    r"[\]\-a]+",
    "-+|#| x",
]


@pytest.mark.parametrize("expression", SAME)
def test_an_expression_matches_what_it_matches_in_the_library(expression):
    theirs = pre_tokenizers.Split(Regex(expression), "isolated")
    for text in TEXTS:
        found, done = [], 0
        for start, end in [*spans(compiled(expression), text), (len(text), len(text))]:
            found += [span for span in ((done, start), (start, end)) if span[0] < span[1]]
            done = end
        assert found == [span for _, span in theirs.pre_tokenize_str(text)], text


@pytest.mark.parametrize(
    "expression, words",
    [
        (r"(?<name>a)", r"holds '\(\?<n' at character 1"),
        (r"\k<name>", "holds .*k. at character"),
        ("(?m:.)", "holds '"),
        ("a**", "a repeated repetition"),
        ("[a&&b]", "'&&' in a class"),
        ("[a[^b]]", r"'\[\^' in a class"),
        ("a{2}?", r"\{2\}\?"),
        ("(", "can't be read"),
        (")", "without its"),
        ("[a", "without its"),
        ("*a", "after nothing"),
        ("\\", "a single"),
        ("[]", "empty class|without its"),
        ("a(?i)b", "after its beginning"),
    ],
)
def test_an_expression_that_may_mean_something_else_is_refused(expression, words):
    with pytest.raises(TokenizerError, match=words):
        compiled(expression)


@pytest.mark.parametrize("expression", [r"\w", r"[\W]", r"[\p{L}\d]", "[[:punct:]]", r"(?i)\p{Lu}"])
def test_a_class_takes_what_it_takes_in_the_library_of_all_code_points(expression):
    ours = compiled(
        expression
    )  # asked for 500 at a time: those that hold none of the disputed ones are searched quickly
    parts = [TEXT[first : first + 500] for first in range(0, len(TEXT), 500)]
    assert {ord(character) for part in parts for character in ours.findall(part)} == taken(
        expression
    )


@pytest.mark.parametrize("expression", SAME)
def test_both_forms_of_an_expression_match_the_same_in_a_text_without_disputed_characters(
    expression,
):
    ours = compiled(expression)
    for text in TEXTS:
        kept = "".join(character for character in text if character not in ours.disputed)
        assert spans(ours.quick, kept) == spans(ours.exact, kept)


def test_a_text_with_a_disputed_character_is_searched_by_the_list_and_others_by_what_is_looked_up():
    ours = compiled(r"\p{L}+")
    assert ours.disputed and ours._fit("caf\u00e9 \u65e5") is ours.quick
    assert all(ours._fit("a" + character) is ours.exact for character in ours.disputed)
    assert "-" in ours.exact.pattern and "-\\" not in ours.quick.pattern


@pytest.mark.parametrize("name", ["word", "Cn", "Lu", "Han"])
def test_the_table_of_classes_is_the_librarys(name):
    assert {code for start, end in ranges(name.lower()) for code in range(start, end)} - {
        *range(0xD800, 0xE000)
    } == taken(rf"\p{{{name}}}")


def test_a_word_ends_where_it_ends_in_the_library():
    text = "a\u00b2 \u00bd \u2153 a\u200db e\u0301x x_1"
    for bound in (r"\b", r"\B"):
        theirs = pre_tokenizers.Split(Regex(rf"{bound}."), "removed").pre_tokenize_str(text)
        kept = "".join(
            character
            for i, character in enumerate(text)
            if i not in {span[0] for span in spans(compiled(rf"{bound}."), text)}
        )
        assert kept == "".join(part for part, _ in theirs)


@pytest.mark.parametrize("expression", [r"\p{Nonsense}", r"(?i)[\p{Lu}]", "[[:print:]]"])
def test_a_class_that_is_not_known_is_refused(expression):
    with pytest.raises(TokenizerError, match="is not known here"):
        compiled(expression)
