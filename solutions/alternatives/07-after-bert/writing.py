"""Differently written correct solutions of chapter 7: a test of span corruption."""

from random import Random

from autograder.checks.mistakes.registry import alternative

END, FIRST, LAST, TOP = 1, 2, 999, 1099


@alternative("07.test_corrupt", "walks-both-lists")
def _(implementation):
    for seed in range(12):
        ids = Random(seed).sample(range(FIRST, LAST + 1), 180)
        source, target = implementation(ids[:], seed)
        assert source and target and source.pop() == END and target.pop() == END
        back, wanted, number = [], TOP, 0
        for place, token in enumerate(source):
            if token <= LAST:
                assert token >= FIRST
                back.append(token)
                continue
            assert token == wanted and (place == 0 or source[place - 1] <= LAST)
            assert target and target.pop(0) == wanted
            before = len(back)
            while target and target[0] <= LAST:
                assert target[0] >= FIRST
                back.append(target.pop(0))
            assert len(back) > before
            number += len(back) - before
            wanted -= 1
        assert not target and back == ids and number == 27


@alternative("07.test_corrupt", "rebuilds-from-what-is-lost")
def _(implementation):
    for seed in range(10):
        ids = [FIRST + place for place in range(200)]
        source, target = implementation(list(ids), seed)
        gone = {token for token in target if FIRST <= token <= LAST}
        assert len(gone) == 30
        right, answer, top, before = [], [], TOP, False
        for token in ids:
            if token in gone:
                if not before:
                    right.append(top)
                    answer.append(top)
                    top -= 1
                answer.append(token)
            else:
                right.append(token)
            before = token in gone
        assert (list(source), list(target)) == (right + [END], answer + [END])
