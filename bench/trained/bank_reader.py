"""Train the encoder of the home page: which *bank* is meant, read from the sentence.

    python bench/trained/bank_reader.py [--steps 1500] [--measure]    two minutes on one core

The model is distilled. The teacher is MiniLM; its vectors at *bank*, reduced to WIDTH principal
components, are what the student's vectors should point along. The student is an encoder in
ModernBERT's form with two layers. It starts with the principal components of the teacher's
embedding vectors; a word of several pieces starts with their mean.

Three kinds of sentences are read. Sentences of TEMPLATES, filled in at random, are of the kind that
a reader types. Definitions of Open English WordNet, in which one of NOUNS is spelled *bank*, bring
other contexts. And every word of the vocabulary is put next to *bank* in one of FRAMES, so that
each has been read at least once. All are also cut after the word, as a sentence is while it is
typed. HELD_OUT was written apart, and no template makes one of its sentences. A word that is not
in the vocabulary is left out of a sentence.

`bench/results/trained_bank_reader.json` has the plane in which the page draws the vectors, and
HELD_OUT. The losses of the first steps are not on the card: the teacher takes a minute to read.
"""

import argparse
import os
import random
import sys
import time
from collections.abc import Sequence
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import torch  # noqa: E402  (threads are set before torch starts)
from elmo import lines  # noqa: E402
from record import save  # noqa: E402
from senses_by_layer import layers_at_the_word  # noqa: E402
from torch import Tensor  # noqa: E402
from torch.nn.functional import cosine_similarity, pad  # noqa: E402

from reference_impl import corpora  # noqa: E402
from reference_impl.corpora.small_models import FOLDER, add_figures, keep, small_model  # noqa: E402
from reference_impl.measure.senses import Uses  # noqa: E402
from reference_impl.models.modernbert import ModernBert, ModernBertConfig  # noqa: E402

NAME, WORD, WIDTH, WORDS, SENTENCES, BATCH, LONGEST = "bank_reader", "bank", 48, 11000, 6000, 64, 24
SIDES = ("river", "money")
NOUNS = set(
    "river stream lake shore coast slope hill field road money loan account fund company shop "
    "office institution store building church school house person city place edge boat tree".split()
)
SLOTS = {
    "water": "river|stream|brook|creek|canal|lake|pond|water|flood|sea|nile|thames|ganges|rapids",
    "money": "money|cash|a loan|loans|credit|dollars|euros|savings|a mortgage|interest|coins|gold|"
    "a cheque|their deposits|a fortune|a bonus",
    "animal": "dog|horse|duck|swan|otter|frog|cow|fish|bird|beaver|crocodile|deer|goose|turtle|"
    "heron|kingfisher|rat|snake|alligator|salmon|trout|dragonfly|hippo",
    "plant": "grass|reeds|trees|willow|flowers|moss|oak|bushes|roots|mud|sand|stones|rocks|"
    "rushes|shrubs|nettles|daisies|pebbles|leaves",
    "craft": "boat|raft|ferry|ship|kayak|canoe|swimmer|barge|log|wave|current|tide|stream|paddle|"
    "dinghy|angler",
    "wet": "sat|fished|camped|stood|slept|rested|walked|swam|waded|picnicked|landed|lay|played|"
    "hiked|sunbathed|knelt|slipped|rowed|paddled|cycled|jogged",
    "steep": "steep|muddy|sandy|grassy|green|wet|opposite|far|left|high|eroded|rocky|overgrown|"
    "slippery|sunny|shady|flooded|mossy|stony|northern",
    "rich": "central|national|local|private|commercial|big|swiss|savings|foreign|nearest|online|"
    "investment|state|european|bankrupt|troubled|american",
    "official": "manager|director|clerk|teller|customer|lawyer|investor|owner|president|robber|"
    "cashier|banker|accountant|shareholder|thief|regulator|borrower|client",
    "deal": "refused|approved|offered|granted|paid|owes|lost|invested|transferred|saved|stole|"
    "lends|lent|deposited|withdrew|borrowed|earns|charged|insured|counted",
    "who": "we|they|she|he|i|the children|my father|the farmer|a woman|the king|people|somebody|"
    "my wife|a man|you",
    "object": "account|cheque|debt|mortgage|card|deposit|bill|salary|savings|pension|tax|rent|fee|"
    "loan|payment|password|overdraft|wage|fraud|statement|robbery|investment|credit card",
    "nation": "england|america|china|japan|scotland|canada|italy|london|new york|zurich",
    "outing": "fishing|canoeing|swimming|camping|walking|sailing|kayaking|birdwatching|hiking",
}
TEMPLATES = (
    "{who} {wet} on the bank of the {water}|{who} {wet} on the {steep} bank|"
    "the bank of the {water} was {steep}|the {animal} {wet} on the bank|a {animal} on the bank|"
    "{plant} grew on the bank|the {craft} reached the bank|the {craft} came close to the bank|"
    "the {water} rose over the bank|the {water} left its bank|the bank was covered with {plant}|"
    "we saw a {animal} on the {steep} bank of the {water}|{who} crossed to the other bank|"
    "the {steep} bank of the {water}|the bank is {steep} here|{who} pulled the {craft} to the bank|"
    "{who} fell down the bank into the {water}|the path follows the bank of the {water}|"
    "there is {plant} along the bank|the bank collapsed into the {water}|the {water} bank|"
    "{who} went {outing} at the bank|{outing} by the bank|{who} took the {craft} to the bank|"
    "the {animal} by the bank|{who} {wet} to the bank|{plant} and {plant} by the bank|"
    "the bank has {plant} and a {animal}|a {craft} at the bank|the bank by the {water}|"
    "the bank {deal} {money}|{who} took {money} from the bank|{who} put {money} in the bank|"
    "the bank {deal} my {object}|{who} has an account with the {rich} bank|my bank {deal} {money}|"
    "the {rich} bank|the {official} of the bank|{who} called the bank about the {object}|"
    "{who} {deal} {money} to the bank|the {rich} bank {deal} {money}|the bank charges {money}|"
    "{who} works for a {rich} bank|a bank in the city|the bank closed its office|"
    "the {official} went to the bank with {money}|the bank has many {official}s|"
    "{who} needs {money} so the bank helps|the bank asked for the {object}|bank {object}|"
    "{who} borrowed {money} from a bank|{who} robbed the {rich} bank|the bank on main street|"
    "{who} {deal} my {object} at the bank|the {official} left the bank|a {official} in the bank|"
    "my {object} is at the bank|the bank and its {official}|the {object} from the bank|"
    "the bank of {nation}|the {rich} bank of {nation}|my bank is closed today|"
    "the bank opens at nine|{who} works in a bank|{who} has a job at the bank|the bank in {nation}|"
    "{who} went to the bank|the bank|a bank|{who} saw the bank|{who} was at the bank|near the bank|"
    "{who} went to the bank to get {money}|{who} went to the bank to see the {water}|"
    "{who} went to the bank and paid the {object}|{who} went to the bank and fed the {animal}|"
    "the bank said the {object} was late|the bank where the {animal} drinks|on the bank {who} {wet}"
).split("|")
FRAMES = "the {} bank|{} at the bank|the bank and the {}|the bank {}|{} on the bank|the bank of {}"
MORE = (  # words that readers try and that are not among the teacher's whole words
    "depositing canoes anglers willows tellers mortgages wading lending kayaks sloped debit heist "
    "robs bailout bailed refinance moored lilies tadpole mosquitoes campfire queued hackers "
    "withdrawing repay repaid borrowers lenders solvency atm iban overdrawn embezzled canoed "
    "rowing riverside lakeside muddier ducklings cattail minnow mallard bulrushes fishes gulls "
    "picnic riverbed silt marsh swampy floodplain levee upstream downstream estuary tributary"
)
HELD_OUT = {
    "river": "we fished from the grassy bank|the bank was muddy after the flood|"
    "the boat drifted to the bank|willows grew along the bank|the stream overflowed its bank|"
    "we camped on the bank under the trees|the swimmer climbed up the bank|"
    "ducks were sleeping on the bank|the river broke through the bank|"
    "a steep bank of earth and grass|the water reached the top of the bank|"
    "he walked along the bank with his dog|the canoe hit the bank|a heron stood on the bank|"
    "in summer the bank is full of swimmers|she threw pebbles from the bank into the waves|"
    "the fisherman waited on the bank all day|moss covers the shady bank|"
    "the otter slid down the bank|the children built a dam from bank to bank|"
    "they paddled their canoe to the far bank|fishing from the bank is forbidden|"
    "a kayak lay upside down on the bank|the rain washed away part of the bank|"
    "we pitched our tent on the bank|herons nest on the opposite bank|"
    "he tied the rowing boat to the bank|the bank is slippery after rain|"
    "wild flowers cover the bank in spring|the salmon hid under the bank",
    "money": "she deposited her salary at the bank|he robbed a bank and ran|"
    "i opened an account at the bank|the bank raised its interest rates|my bank charged me a fee|"
    "the bank approved our loan|the central bank prints money|i work at a bank in the city|"
    "the bank went bankrupt|the manager of the bank resigned|i need cash from the bank|"
    "the bank sold its shares|the bank has a branch in paris|pay the bill at the bank|"
    "she owes the bank a fortune|the bank froze his assets|our bank hired new accountants|"
    "the bank refused to lend to the company|he queued at the bank to change currency|"
    "investors no longer trust the bank|the robber locked the staff of the bank in the vault|"
    "my savings are in the bank|the bank rejected her application|"
    "her salary goes straight to the bank|the bank blocked my credit card|"
    "i withdrew fifty euros at the bank|the bank lends to small firms|"
    "he has been a cashier at the bank for years|the government bailed out the bank|"
    "the bank transferred the payment twice",
}


def words_of(text: str) -> list[str]:
    """A sentence as lower-case words, as the page's tokenizer cuts it where nothing is unusual."""
    return text.lower().split()


def filled(draw: random.Random, templates: Sequence[str] = TEMPLATES) -> list[str]:
    """One of the templates with its slots filled."""
    text = draw.choice(templates)
    for slot, options in SLOTS.items():
        while f"{{{slot}}}" in text:
            text = text.replace(f"{{{slot}}}", draw.choice(options.split("|")), 1)
    return words_of(text)


def respelled_definition(line: list[str]) -> list[str] | None:
    """A definition with its first one of NOUNS spelled WORD, or None where it has none."""
    place = next((i for i, word in enumerate(line) if i and word in NOUNS), None)
    if place is None or WORD in line:
        return None
    return [*line[:place], WORD, *line[place + 1 :]]


def sentences(seed: int = 0) -> list[list[str]]:
    """The training sentences: as many from templates as from definitions, one in four cut."""
    draw = random.Random(seed)
    defined = [new for line in lines()[0] if (new := respelled_definition(line))]
    made = [filled(draw) for _ in range(SENTENCES)] + draw.sample(defined, SENTENCES)
    frames = FRAMES.split("|")
    made += [words_of(draw.choice(frames).format(word)) for word in vocabulary() if word != WORD]
    for number, sentence in enumerate(made):
        place = sentence.index(WORD)
        cut = draw.random() < 0.25
        end = draw.randrange(place + 1, len(sentence) + 1) if cut else len(sentence)
        made[number] = sentence[max(0, place - LONGEST // 2) : end][:LONGEST]
    held = {text for texts in HELD_OUT.values() for text in texts.split("|")}
    return [sentence for sentence in made if " ".join(sentence) not in held]


def vocabulary() -> list[str]:
    """The first whole words of the teacher's vocabulary, and those of the templates and MORE."""
    tokens = corpora.load("bert_tokenizer").vocabulary
    kept = [t for t in tokens if t.isascii() and t.isalpha() and (len(t) > 1 or t in "ai")]
    ours = words_of(" ".join([*SLOTS.values(), *TEMPLATES, MORE]).replace("|", " "))
    return list(dict.fromkeys([*kept[:WORDS], *(word for word in ours if word.isalpha())]))


def components(vectors: Tensor) -> tuple[Tensor, Tensor]:
    """The mean of some vectors and their first WIDTH principal directions, (C), (C, WIDTH)."""
    centre = vectors.mean(0)
    return centre, torch.linalg.svd(vectors - centre, full_matrices=False).Vh[:WIDTH].T


def taught(some: list[list[str]]) -> Tensor:
    """The teacher's last vectors at WORD, (N, 384)."""
    uses = Uses(some, [line.index(WORD) for line in some], torch.zeros(len(some)))
    return layers_at_the_word(corpora.load("minilm").eval(), uses)[-1]


def new_model(words: list[str]) -> ModernBert:
    """The untrained student, with the teacher's reduced embedding vectors."""
    torch.manual_seed(0)
    model = ModernBert(
        ModernBertConfig(
            vocab_size=len(words),
            hidden_size=WIDTH,
            intermediate_size=2 * WIDTH,
            num_layers=2,
            num_heads=4,
            max_position_embeddings=64,
            local_attention=64,
        )
    )
    tokenizer = corpora.load("bert_tokenizer")
    table = corpora.load("minilm").embeddings.word.weight.detach()
    pieces = [tokenizer.encode(word, add_specials=False).ids for word in words]
    known = torch.stack([table[ids].mean(0) for ids in pieces])
    centre, axes = components(known)
    reduced = (known - centre) @ axes
    with torch.no_grad():
        model.embedding.weight.copy_(reduced / reduced.std())
    return model


def ids_of(some: list[list[str]], words: list[str]) -> tuple[list[Tensor], list[int]]:
    """Ids of the known words of each sentence, and where WORD is among them."""
    index = {word: number for number, word in enumerate(words)}
    known = [[word for word in line if word in index] for line in some]
    ids = [torch.tensor([index[word] for word in line]) for line in known]
    return ids, [line.index(WORD) for line in known]


def at_the_word(model: ModernBert, ids: list[Tensor], places: list[int]) -> Tensor:
    """The student's vectors at WORD, (N, WIDTH)."""
    longest = max(map(len, ids))
    batch = torch.stack([pad(row, (0, longest - len(row))) for row in ids])
    mask = torch.stack([torch.arange(longest) < len(row) for row in ids])
    return model(batch, mask=mask)[torch.arange(len(ids)), torch.tensor(places)]


def fit(model: ModernBert, words: list[str], steps: int) -> list[float]:
    """Train the student on the teacher's directions; the loss of every step."""
    some = sentences()
    goal = taught(some)
    centre, axes = components(goal)
    goal = (goal - centre) @ axes
    ids, places = ids_of(some, words)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=0.02)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 2e-3, total_steps=steps)
    losses, draw = [], torch.Generator().manual_seed(0)
    for _ in range(steps):
        chosen = torch.randint(len(some), (BATCH,), generator=draw).tolist()
        found = at_the_word(model, [ids[i] for i in chosen], [places[i] for i in chosen])
        loss = 1 - cosine_similarity(found, goal[chosen]).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        losses.append(loss.item())
    return losses


def of_one_sense(draw: random.Random, number: int = 200) -> dict[str, list[list[str]]]:
    """Filled templates whose slots speak of one side only."""
    slots = {
        "river": "water animal plant craft wet steep",
        "money": "money rich official deal object",
    }
    has = {side: [f"{{{slot}}}" for slot in slots[side].split()] for side in SIDES}
    found: dict[str, list[list[str]]] = {}
    for side, other in zip(SIDES, reversed(SIDES), strict=True):
        of_it = [
            text
            for text in TEMPLATES
            if any(slot in text for slot in has[side]) and not any(s in text for s in has[other])
        ]
        found[side] = [filled(draw, of_it) for _ in range(number)]
    return found


@torch.no_grad()
def plane(model: ModernBert, words: list[str]) -> dict[str, list]:
    """The plane of the home page: `centre` and two `axes` of the student's vectors.

    The first axis leads from the mean of sentences about money to that of sentences about rivers,
    with money at -1 and river at 1; along the second these sentences spread widest.
    """
    vectors = [
        at_the_word(model, *ids_of(some, words)) for some in of_one_sense(random.Random(1)).values()
    ]
    river, money = (some.mean(0) for some in vectors)
    centre, across = (river + money) / 2, (river - money) / 2
    axis = across / across.square().sum()
    rest = torch.cat(vectors) - centre
    rest = rest - (rest @ axis)[:, None] * across
    second = torch.linalg.svd(rest, full_matrices=False).Vh[0]
    second = second / (rest @ second).std()
    rounded = {"centre": centre, "axes": torch.stack([axis, second])}
    return {key: torch.round(value, decimals=5).tolist() for key, value in rounded.items()}


@torch.no_grad()
def figures(model: ModernBert, words: list[str], every: int = 1) -> dict[str, float]:
    """How many of each so-manieth sentence of HELD_OUT lie on their side of the plane."""
    found, right, total = plane(model, words), 0, 0
    for side, sign in zip(SIDES, (1, -1), strict=True):
        some = [words_of(text) for text in HELD_OUT[side].split("|")[::every]]
        off = at_the_word(model, *ids_of(some, words)) - torch.tensor(found["centre"])
        right += int((off @ torch.tensor(found["axes"][0]) * sign > 0).sum())
        total += len(some)
    return {"sentences": total, "right": right}


def main() -> None:
    """Train, keep the model, measure what was kept."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--steps", type=int, default=1500)
    parser.add_argument("--measure", action="store_true", help="measure what is kept, only")
    args = parser.parse_args()
    torch.set_num_threads(1)
    if not args.measure:
        started, words = time.process_time(), vocabulary()
        model = new_model(words)
        losses = fit(model, words, args.steps)
        print(f"{time.process_time() - started:.0f} s, last {sum(losses[-50:]) / 50:.3f}")
        keep(
            NAME,
            "encoder",
            model.config,
            model,
            script="bench/trained/bank_reader.py",
            seed=0,
            corpora=["oewn_glosses", "minilm", "bert_tokenizer"],
            first_losses=[],
            steps=args.steps,
        )
        (FOLDER / NAME / "words.txt").write_text("\n".join(words) + "\n", encoding="utf-8")
    kept = small_model(NAME)
    add_figures(NAME, *(figures(kept.model, kept.tokenizer, every) for every in (1, 2)))
    save(
        "trained_bank_reader",
        seed=0,
        plane=plane(kept.model, kept.tokenizer),
        texts={side: HELD_OUT[side].split("|") for side in SIDES},
        **small_model(NAME).card["figures"],
    )


if __name__ == "__main__":
    main()
