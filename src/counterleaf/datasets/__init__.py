"""The paper's data sets: five bundled tables in ``files/``, MNIST from a folder or from OpenML, and sample models."""

from counterleaf.datasets.bundled import load_adult, load_breast_cancer, load_german_credit, load_letter, load_spambase
from counterleaf.datasets.dataset import Dataset
from counterleaf.datasets.mnist import load_mnist
from counterleaf.datasets.samples import example_tree

__all__ = [
    "Dataset",
    "example_tree",
    "load_adult",
    "load_breast_cancer",
    "load_german_credit",
    "load_letter",
    "load_mnist",
    "load_spambase",
]
