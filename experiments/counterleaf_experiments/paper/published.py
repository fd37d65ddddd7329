"""The numbers published in the paper; all other numbers in the report are computed.

M. A. Carreira-Perpiñán and S. S. Hada, *Counterfactual Explanations for Oblique Decision Trees: Exact, Efficient Algorithms*,
AAAI 2021; longer version arXiv:2103.01096.
"""

from __future__ import annotations

from dataclasses import dataclass

CITATION = (
    "M. A. Carreira-Perpiñán and S. S. Hada, Counterfactual Explanations for Oblique Decision Trees: "
    "Exact, Efficient Algorithms, AAAI 2021 (arXiv:2103.01096)"
)


@dataclass(frozen=True, slots=True)
class ComparisonRow:
    """A row of table 2 or 3: milliseconds and distances (mean ± deviation, as printed) for one level of constraints."""

    percent: int  # of features constrained
    l2_ms: float
    l2: str
    l1_ms: float
    l1: str
    other_ms: float | None = None  # of the baseline; None if the paper prints no number
    other: str = ""
    feasible: int | None = None  # in %


OBLIQUE = {  # table 2; the baseline is the nearest training or test row
    "mnist": (
        ComparisonRow(0, 40, "0.63±0.48", 580, "2.85±1.40", 40, "53.50±17.24", 100),
        ComparisonRow(9, 40, "0.63±0.48", 580, "2.85±1.40", 40, "53.50±17.24", 100),
        ComparisonRow(47, 40, "9.28±6.70", 550, "12.80±7.89", None, "", 0),
    ),
    "adult": (
        ComparisonRow(0, 710, "2.40±0.83", 600, "2.40±0.83", 70, "3.4e4±1.2e5", 100),
        ComparisonRow(7, 810, "2.45±0.86", 590, "2.40±0.83", 4300, "1.6e7±5.2e7", 100),
        ComparisonRow(14, 780, "2.49±0.97", 570, "2.50±0.97", 2700, "1.9e7±5.8e7", 100),
    ),
    "breast": (
        ComparisonRow(0, 4, "0.35±0.33", 2, "1.14±0.48", 0, "0.86±0.49", 100),
        ComparisonRow(11, 3, "0.48±0.44", 2, "1.14±0.48", 0, "1.25±0.54", 77),
        ComparisonRow(22, 3, "0.52±0.48", 2, "1.16±0.48", 0, "1.61±0.89", 17),
    ),
    "spambase": (
        ComparisonRow(0, 7, "0.002±0.01", 12, "0.060±0.06", 0, "0.060±0.06", 100),
        ComparisonRow(17, 6, "0.002±0.01", 12, "0.060±0.06", 10, "0.070±0.09", 32),
        ComparisonRow(53, 7, "0.003±0.01", 12, "0.070±0.06", 20, "0.020±0.01", 17),
    ),
    "letter": (
        ComparisonRow(0, 18, "0.02±0.01", 20, "0.31±0.12", 0, "0.19±0.09", 100),
        ComparisonRow(25, 17, "0.03±0.02", 20, "0.31±0.12", 0, "0.36±0.19", 19),
        ComparisonRow(62, 16, "0.20±0.84", 190, "0.55±0.47", None, "", 0),
    ),
    "german": (
        ComparisonRow(0, 50, "3.97±3.50", 80, "2.70±1.20", 0, "3.0e3±7.3e3", 100),
        ComparisonRow(7, 50, "4.00±3.50", 80, "2.70±1.20", None, "", 0),
        ComparisonRow(16, 50, "4.25±5.80", 80, "2.80±1.30", None, "", 0),
    ),
}

AXIS = {  # table 3; the baseline is Feature Tweaking, which does not support constraints
    "mnist": (
        ComparisonRow(0, 110, "0.04±0.11", 110, "0.16±0.26", 190, "1.48±1.09", 100),
        ComparisonRow(9, 110, "0.04±0.11", 110, "0.16±0.26"),
        ComparisonRow(47, 120, "5.83±3.27", 120, "13.16±3.65"),
    ),
    "adult": (
        ComparisonRow(0, 130, "2.05±0.31", 130, "2.05±0.31", 50, "1.00±0.00", 28),
        ComparisonRow(7, 130, "2.07±0.34", 130, "2.07±0.34"),
        ComparisonRow(14, 140, "26.10±14.97", 140, "2.85±4.54"),
    ),
    "breast": (
        ComparisonRow(0, 0, "0.13±0.17", 0, "0.42±0.28", 0, "0.36±0.19", 100),
        ComparisonRow(11, 0, "0.19±0.25", 0, "0.47±0.33"),
        ComparisonRow(22, 0, "0.22±0.29", 0, "0.48±0.35"),
    ),
    "spambase": (
        ComparisonRow(0, 3, "1.7e-5±0.0", 30, "0.003±0.002", 0, "0.005±0.009", 100),
        ComparisonRow(17, 30, "1.7e-5±0.0", 30, "0.004±0.002"),
        ComparisonRow(53, 40, "4.5e-5±0.0", 40, "0.005±0.004"),
    ),
    "letter": (
        ComparisonRow(0, 50, "0.014±0.01", 50, "0.16±0.08", 30, "0.22±0.13", 100),
        ComparisonRow(25, 40, "0.016±0.02", 50, "0.17±0.09"),
        ComparisonRow(62, 40, "0.058±0.05", 60, "0.28±0.02"),
    ),
    "german": (
        ComparisonRow(0, 40, "2.60±1.01", 40, "2.60±1.01", 0, "87.88±13.20", 22),
        ComparisonRow(7, 40, "2.60±1.01", 40, "2.60±1.01"),
        ComparisonRow(16, 40, "26.50±50.2", 40, "4.87±4.64"),
    ),
}


@dataclass(frozen=True, slots=True)
class ErrorRow:
    """A model in a row of table 6: training and test error in %, depth of the tree."""

    train: float
    test: float
    depth: int | None = None


ERRORS = {
    "mnist": {"cart": ErrorRow(4.2, 11.9, 19), "tao": ErrorRow(1.4, 5.2, 9), "forest": ErrorRow(0.0, 3.1)},
    "adult": {"cart": ErrorRow(12.6, 14.7, 12), "tao": ErrorRow(13.9, 14.6, 12), "forest": ErrorRow(13.2, 14.1)},
    "breast": {"cart": ErrorRow(1.4, 2.6, 4), "tao": ErrorRow(1.2, 2.1, 3), "forest": ErrorRow(0.01, 2.1)},
    "spambase": {"cart": ErrorRow(3.1, 7.6, 10), "tao": ErrorRow(4.5, 4.8, 5), "forest": ErrorRow(0.0, 4.2)},
    "letter": {"cart": ErrorRow(1.2, 12.1, 25), "tao": ErrorRow(3.8, 7.7, 12), "forest": ErrorRow(0.0, 3.7)},
    "german": {"cart": ErrorRow(21.9, 23.5, 7), "tao": ErrorRow(17.5, 18.5, 8), "forest": ErrorRow(0.0, 21.9)},
}

# table 1: the source row, and the changes in the answers to three questions
PERSON = {
    "age": 25,
    "workclass": "Private",
    "education": "11th",
    "marital-status": "Never-married",
    "occupation": "Machine-op-inspct",
    "relationship": "Own-child",
    "race": "Black",
    "sex": "Male",
    "capital-gain": 0,
    "capital-loss": 0,
    "hours-per-week": 40,
    "native-country": "United-States",
}
PERSON_LOCKS: tuple[tuple[str, ...], ...] = (
    (),
    ("race", "native-country", "sex"),
    ("race", "native-country", "sex", "education", "marital-status", "relationship"),
)
PERSON_ANSWERS: tuple[dict[str, object], ...] = (
    {"race": "Asian-Pac-Islander", "capital-loss": 1, "native-country": "Peru"},
    {"education": "Assoc-voc", "marital-status": "Married-AF-spouse", "hours-per-week": 39},
    {"workclass": "Federal-gov", "occupation": "Armed-Forces", "capital-gain": 1, "capital-loss": 3},
)

# the figure of digits: source, target, and the distances l1, l2, Q adding ink, Q erasing ink, nearest row (l2)
DIGITS = (
    (2, 0, (1.83, 0.34, 0.06, 0.66, 40.4)),
    (7, 1, (2.01, 0.2, 0.04, 0.45, 55.6)),
    (6, 3, (4.24, 1.00, 0.27, 1.11, 84.5)),
    (5, 4, (4.01, 0.95, 0.24, 2.02, 51.1)),
    (3, 9, (2.78, 0.49, 0.07, 2.55, 49.1)),
    (2, 7, (2.73, 0.55, 0.23, 1.14, 74.03)),
    (7, 0, (3.07, 0.75, 0.14, 2.66, 57.25)),
    (2, 6, (4.9, 0.91, 0.39, 1.69, 81.73)),
    (6, 5, (3.73, 0.57, 0.12, 0.81, 49.35)),
)
