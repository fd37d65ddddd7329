"""Pictures of answers about ensembles: changes and images; kinds that show a single tree are refused."""

import numpy as np
import pytest
from sklearn.datasets import load_digits, load_iris
from sklearn.ensemble import RandomForestClassifier
from support.plot_cases import words

import counterleaf as cl

X, Y = load_iris(return_X_y=True, as_frame=True)


def petals(**query):
    two = X.iloc[:, 2:]
    model = RandomForestClassifier(8, random_state=0).fit(two, np.array(["setosa", "versicolor", "virginica"])[Y])
    return cl.Explainer(model, data=two).explain(two.iloc[10], **query)


def test_changes_are_the_default_even_over_two_numbers():
    said = words(petals(target="virginica").plot())
    assert any("petal" in word for word in said), said


@pytest.mark.parametrize("arguments", [{"kind": "tree"}, {"kind": "regions"}, {"features": (0, 1)}])
def test_kinds_of_single_trees_are_refused(arguments):
    message = """kind is '(tree|regions)', which shows a single tree, and the model is an ensemble; use kind="changes"$"""
    with pytest.raises(cl.CounterleafError, match=message):
        petals().plot(**arguments)


def test_without_an_answer_there_is_nothing_to_draw():
    nothing = petals(constraints=cl.freeze(*X.columns[2:]))
    with pytest.raises(cl.CounterleafError, match=r'the status is "infeasible", so there is no change to draw$'):
        nothing.plot()


def test_digits_are_images():
    pixels, labels = load_digits(return_X_y=True)
    explainer = cl.Explainer(RandomForestClassifier(4, max_depth=4, random_state=0).fit(pixels, labels), data=pixels)
    answer = explainer.explain(pixels[0], target=8)
    assert len(answer.plot(shape=(8, 8)).axes) >= 2
