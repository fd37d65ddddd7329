"""The paper's data sets: five bundled tables, and MNIST from a folder or from OpenML."""

from counterleaf.datasets.bundled import load_adult, load_breast_cancer, load_german_credit, load_letter, load_spambase
from counterleaf.datasets.dataset import Dataset
from counterleaf.datasets.mnist import load_mnist

__all__ = [
    "Dataset",
    "load_adult",
    "load_breast_cancer",
    "load_german_credit",
    "load_letter",
    "load_mnist",
    "load_spambase",
]
