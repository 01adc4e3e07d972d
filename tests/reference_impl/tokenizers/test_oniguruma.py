"""Expressions written for Oniguruma: what they match there, they match here, or they are refused."""
import pytest
from tokenizers import Regex, pre_tokenizers

from reference_impl.tokenizers.oniguruma import compiled
from reference_impl.tokenizers.text_normalizers import spans
from reference_impl.tokenizers.vocabulary import TokenizerError

TEXTS = ["Ab1 22,333 4444444! a\nb\r\n  c$", "don't DON'T \u017f stood\u2028x", "caf\u00e9 e\u0301 \u65e5\u672c\u3002ok (x|y)",
         "aabbab --[x]-- 0xFF", ""]
SAME = [r"\p{N}{1,3}+", r"^\w+|\w$", r"(\w)\1", "[[:punct:]]+|[[:alpha:]#]", r"\h{2}", r"(?i)dON|(?-i:A)", r"(?=[A-Z])",
        r" ?[^(\s|[.,!?\u2026\u3002\uff0c])]+", r"[^\r\n\p{L}\p{N}]?\p{L}+", r"\s+(?!\S)|\s+", r"a{,2}b|c{1}",
        "a.b|\u65e5?+", r"\x41|\u65e5|\x{62}",
        r"(?<=b)a|(?<!a)b|(?>a+)b", r"\A.|.\z", r"[\]\-a]+", "-+|#| x"]


@pytest.mark.parametrize("expression", SAME)
def test_an_expression_matches_what_it_matches_in_the_library(expression):
    theirs = pre_tokenizers.Split(Regex(expression), "isolated")
    for text in TEXTS:
        found, done = [], 0
        for start, end in [*spans(compiled(expression), text), (len(text), len(text))]:
            found += [span for span in ((done, start), (start, end)) if span[0] < span[1]]
            done = end
        assert found == [span for _, span in theirs.pre_tokenize_str(text)], text


@pytest.mark.parametrize("expression, words", [
    (r"(?<name>a)", r"holds '\(\?<n' at character 1"), (r"\k<name>", "holds .*k. at character"), ("(?m:.)", "holds '"),
    ("a**", "a repeated repetition"),
    ("[a&&b]", "'&&' in a class"), ("[a[^b]]", r"'\[\^' in a class"), ("a{2}?", r"\{2\}\?"),
    ("(", "can't be read"), (")", "without its"),
    ("[a", "without its"), ("*a", "after nothing"), ("\\", "a single"),
    ("[]", "empty class|without its"), ("a(?i)b", "after its beginning"),
])
def test_an_expression_that_may_mean_something_else_is_refused(expression, words):
    with pytest.raises(TokenizerError, match=words):
        compiled(expression)
