"""Our metrics of GLUE beside scikit-learn's and scipy's: the same draws, and the largest difference
of each.

    python bench/glue_metrics.py        a few seconds

A draw has 2 to 60 examples. Labels are of two classes, in turn even and one in ten; what is said
agrees with them in a drawn share of cases. For the correlations a draw has scores with ties from 0
to 5, and answers that lean on them. Small draws often have one class only, where a share may be of
nothing.
"""

import warnings

import torch
from record import save
from scipy import stats
from sklearn import metrics as theirs

from reference_impl.embeddings.evaluation import spearman
from reference_impl.measure import metrics as ours

DRAWS = 400


def main() -> None:
    """Compare, write bench/results/glue_metrics.json."""
    generator = torch.Generator().manual_seed(0)
    apart = dict.fromkeys(("accuracy", "F1", "Matthews", "Pearson", "Spearman"), 0.0)

    def compare(name: str, one: float, other: float) -> None:
        apart[name] = max(apart[name], abs(one - other))

    for draw in range(DRAWS):
        many = int(torch.randint(2, 61, (1,), generator=generator))
        labels = (torch.rand(many, generator=generator) < (0.5 if draw % 2 else 0.1)).long()
        agree = torch.rand(many, generator=generator) < torch.rand(1, generator=generator)
        said = torch.where(agree, labels, 1 - labels)
        compare("accuracy", ours.accuracy(said, labels), theirs.accuracy_score(labels, said))
        compare(
            "F1",
            ours.binary_scores(said, labels).f1,
            theirs.f1_score(labels, said, zero_division=0),
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # scikit-learn warns where a draw has one class
            compare("Matthews", ours.matthews(said, labels), theirs.matthews_corrcoef(labels, said))
        scores = torch.randint(0, 11, (many + 2,), generator=generator).double() / 2
        guesses = scores + 2 * torch.randn(many + 2, generator=generator, dtype=torch.float64)
        if scores.unique().numel() > 1:
            compare(
                "Pearson", ours.pearson(guesses, scores), stats.pearsonr(guesses, scores).statistic
            )
            compare(
                "Spearman", spearman(guesses, scores), stats.spearmanr(guesses, scores).statistic
            )
    save(
        "glue_metrics",
        versions=("torch", "scikit-learn", "scipy"),
        seed=0,
        draws=DRAWS,
        apart=apart,
    )
    print(apart)


if __name__ == "__main__":
    main()
