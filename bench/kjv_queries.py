"""A hundred hand-written queries on four books of the King James Bible.

One person, the author of this file, wrote them before any method was run, half of each kind:

- PARAPHRASES: a sentence in present-day English, written from memory of the passage, and words that
  the passage has. Every verse that holds these words is right, and no other. Other verses may
  answer as well; they were not looked for and count as wrong, for every method alike.
- NAMES: rare names of persons and places, asked for with `who or what is NAME`. Every verse that
  holds the name is right.

`judgements(verses)` finds the verses, and fails if words or a name are nowhere.
"""

import re
from collections.abc import Sequence

BOOKS = {"Genesis": (0, 1533), "Exodus": (1533, 2746), "Proverbs": (16401, 17316)}
BOOKS |= {"Matthew": (23145, 24216)}  # first line and line after the last in corpora.load("kjv")

PARAPHRASES = (
    ("do not murder anybody", "Thou shalt not kill."),
    ("taking what belongs to others is forbidden", "Thou shalt not steal."),
    ("married people must not cheat on each other", "Thou shalt not commit adultery."),
    ("do not lie in court about the people next door", "Thou shalt not bear false witness"),
    (
        "treat people the way you want to be treated",
        "whatsoever ye would that men should do to you",
    ),
    ("nobody can work for two bosses", "No man can serve two masters"),
    ("do not worry about what comes next week", "Take therefore no thought for the morrow"),
    ("when somebody hits you, let them hit you again", "smite thee on thy right cheek"),
    ("arrogance leads to ruin", "Pride goeth before destruction"),
    ("a gentle reply calms an angry person", "A soft answer turneth away wrath"),
    ("lazy people should learn from insects", "Go to the ant, thou sluggard"),
    ("parents who never punish do not love their child", "He that spareth his rod"),
    ("reputation is worth more than wealth", "A good name is rather to be chosen"),
    ("people in debt depend on those they owe", "the borrower is servant to the lender"),
    ("friends make each other better", "Iron sharpeneth iron"),
    ("drinking alcohol makes people look foolish", "Wine is a mocker"),
    ("the very first brightness in the universe", "Let there be light"),
    ("a man murders his sibling", "Cain rose up against Abel"),
    ("build a ship and seal it against water", "Make thee an ark of gopher wood"),
    ("it poured for almost six weeks", "the rain was upon the earth forty days"),
    ("a woman is turned into a mineral because she turned round", "she became a pillar of salt"),
    ("an old wife finds the idea of having a baby funny", "Therefore Sarah laughed within"),
    ("hunger makes a man give away his inheritance", "he sold his birthright unto Jacob"),
    ("somebody dreams of stairs that reach the clouds", "behold a ladder set up on the earth"),
    ("a teenager is handed to traders by his own family", "sold Joseph to the Ishmeelites"),
    ("a long period without food is predicted", "seven years of famine"),
    ("a baby is hidden in a basket beside the river", "an ark of bulrushes"),
    ("a plant is on fire and stays unharmed", "the bush burned with fire"),
    ("what people drink becomes red", "turned to blood"),
    ("amphibians invade the bedrooms", "bring forth frogs abundantly"),
    ("people walk on dry ground between two masses of sea", "the waters were a wall unto them"),
    ("food drops from the sky for the hungry", "I will rain bread from heaven"),
    ("a statue of a young cow is made of jewellery", "made it a molten calf"),
    ("once a week nobody works", "Remember the sabbath day, to keep it holy"),
    ("respect mum and dad", "Honour thy father and thy mother"),
    ("visitors bring expensive gifts to a newborn", "gold, and frankincense, and myrrh"),
    ("a ruler orders that infants be put to death", "slew all the children"),
    ("two workers quit their job at once to go with a teacher", "they straightway left their nets"),
    ("a small meal is enough for a large crowd", "five loaves, and the two fishes"),
    ("somebody crosses a lake on foot", "walking on the sea"),
    ("a follower is paid to betray his teacher", "thirty pieces of silver"),
    ("an official shows in public that he is not guilty", "washed his hands before the multitude"),
    ("it is hard for the wealthy to enter paradise", "go through the eye of a needle"),
    ("how often one should forgive", "seventy times seven"),
    ("a building on soft ground collapses", "built his house upon the sand"),
    ("those who grieve will feel better", "Blessed are they that mourn"),
    ("do not criticise others or they will criticise you", "Judge not, that ye be not judged"),
    ("you see small faults of others and not your own large one", "the mote that is in thy"),
    ("keep requesting and in the end you get what you want", "Ask, and it shall be given you"),
    ("leaders without sight take others into danger", "if the blind lead the blind"),
)

NAMES = (
    "Arphaxad Peleg Serug Methuselah Mahalaleel Irad Jubal Zillah Naamah Nimrod Calneh"
    " Hazarmaveth Almodad Chedorlaomer Amraphel Melchizedek Keturah Zimran Nebajoth Mibsam Kedemah"
    " Machpelah Ephron Reumah Peniel Mahalath Bashemath Eliphaz Zibeon Jobab Potiphar Asenath"
    " Phichol Shiphrah Puah Gershom Bezaleel Aholiab Agur Lemuel Salathiel Zorobabel Rachab"
    " Barachias Caiaphas Golgotha Barabbas Gethsemane Chorazin Decapolis"
).split()


def collection(lines: Sequence[str]) -> list[str]:
    """The verses of the four books."""
    return [line for start, end in BOOKS.values() for line in lines[start:end]]


def judgements(verses: Sequence[str]) -> tuple[list[str], list[dict[int, int]]]:
    """The queries, paraphrases first, and the verses that are right for each."""
    asked = [*PARAPHRASES, *((f"who or what is {name}", name) for name in NAMES)]
    right = [
        {
            at: 1
            for at, verse in enumerate(verses)
            if re.search(rf"(?<!\w){re.escape(words)}(?!\w)", verse)
        }
        for _, words in asked
    ]
    missing = [words for (_, words), some in zip(asked, right, strict=True) if not some]
    if missing:
        raise ValueError(f"no verse has {missing}")
    return [query for query, _ in asked], right
