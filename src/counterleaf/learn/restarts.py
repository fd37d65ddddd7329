"""Which start and which rule: held-out rows tell. Then the search, as often as asked for."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from counterleaf.learn.initial import cart_start, class_start, random_start
from counterleaf.learn.sweeps import Sweeps
from counterleaf.learn.task import Settings, Task
from counterleaf.learn.threads import Crew

_FEW = 1000  # rows below which a trial says nothing
_LEARNED, _HELD = 10_000, 5_000  # the most rows of a trial
_TRIAL = 8  # its sweeps

Plan = tuple[str, bool]  # a start, and whether sweeps take every new split


def learn(
    task: Task,
    settings: Settings,
    init: str,
    depth: int,
    max_iter: int,
    restarts: int,
    rng: np.random.RandomState,
    crew: Crew,
    tell: Callable[[str], None],
) -> Sweeps:
    """The best of all restarts by training error, from the plan that does best on held-out rows."""
    plans = _plans(init, task, settings)
    if len(plans) > 1 and len(task.y) >= _FEW:
        plans.sort(key=_trial(task, settings, plans, depth, rng, crew, tell))
    runs = []
    for turn in range(restarts):
        which = f"TAO from {plans[0][0]}" + (f", restart {turn + 1} of {restarts}" if restarts > 1 else "")

        def report(sweep: int, share: float, which: str = which) -> None:
            tell(f"{which}: sweep {sweep} of {max_iter}, training error {share:.2%}")

        runs.append(_begin(task, settings, plans[0], depth, turn > 0, rng, crew, report).run(max_iter))
    return min(runs, key=lambda sweeps: sweeps.score)


def _plans(init: str, task: Task, settings: Settings) -> list[Plan]:
    """What may be tried; the first is taken where rows are too few for a trial.

    Random splits and those between classes have nothing worth keeping, so that bold sweeps do better (Letter: 8 % of errors
    against 10 %). From CART that depends: Adult 14.4 % cautiously and 15.6 % boldly, Spambase 7.0 and 6.6 %.
    """
    if settings.axis_aligned:
        return [("cart", False)]
    if init in ("random", "classes"):
        return [(init, True)]
    plans = [("cart", True), ("cart", False)]
    return [("classes", True), *plans] if init == "auto" and task.classes > 2 else plans


def _trial(
    task: Task,
    settings: Settings,
    plans: list[Plan],
    depth: int,
    rng: np.random.RandomState,
    crew: Crew,
    tell: Callable[[str], None],
) -> Callable[[Plan], float]:
    """The share of misclassified weight on held-out rows, of a tree learned from others in a few sweeps."""
    order = rng.permutation(len(task.y))
    cut = min(len(order) // 5, _HELD)
    held, learned = task.part(np.sort(order[:cut])), task.part(np.sort(order[cut : cut + _LEARNED]))
    shares = {}
    for plan in plans:
        sweeps = _begin(learned, settings, plan, depth, False, rng, crew, lambda sweep, share: None).run(_TRIAL)
        shares[plan] = sweeps.miss(held)
        name, bold = plan
        rule = "every new split" if bold else "splits that miss no more"
        tell(f"TAO from {name}, taking {rule}: {shares[plan]:.2%} of {cut} held-out rows wrong")
    return lambda plan: shares[plan]


def _begin(
    task: Task,
    settings: Settings,
    plan: Plan,
    depth: int,
    varied: bool,
    rng: np.random.RandomState,
    crew: Crew,
    report: Callable[[int, float], None],
) -> Sweeps:
    """Sweeps from a start; from another one if all its leaves have the same class, so that no split decides anything.

    A CART tree counts as an answer itself only for cautious sweeps: where it knows its rows by heart, bold ones could never
    undercut it, though they generalise better (scikit-learn's breast cancer set, depth 6: 8.2 % of errors, 3.1 without it).
    """
    name, bold = plan
    seed = int(rng.randint(2**31 - 1))
    for start in dict.fromkeys((name, "classes", "cart")):
        random = np.random.default_rng(seed)
        if start == "cart":
            shape = cart_start(task, depth, varied, seed)
        elif start == "random":
            shape = random_start(task, depth, random)
        else:
            shape = class_start(task, depth, settings, random)
        sweeps = Sweeps(task, settings, shape, bold, start == "cart" and not bold, crew, report)
        if sweeps.sure[0] < 0 or settings.axis_aligned or task.classes == 1:
            break
    return sweeps
