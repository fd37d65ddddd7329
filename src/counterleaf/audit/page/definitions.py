"""Texts of the page that are the same in every report: definitions and limits."""

from __future__ import annotations

import re


def _items(text: str) -> tuple[str, ...]:
    """Return the items of a text: each begins a line, and its further lines are indented."""
    return tuple(" ".join(item.split()) for item in re.split(r"\n(?! )", text.strip()))


_CONFIRMED = {
    False: "The model itself predicted the target for that row.",
    True: "The converted model, which is kept with the audit, predicted the target for that row.",
}


def definitions(of_folder: bool) -> tuple[tuple[str, str], ...]:
    """Return the terms of a report with their definitions; that of a folder rests on the converted model."""
    reach = (
        "There is a row within the values and constraints of the question for which the model says the target. "
        f"{_CONFIRMED[of_folder]} It is proved to be the cheapest, unless a limit stopped the search."
    )
    has, *others = ((name, text) for name, _, text in (item.partition(": ") for item in _DEFINITIONS))
    return (has, ("Can reach it", reach), *others)


_DEFINITIONS = _items("""
Already has the target: The model says the target for the row as it is. The other rows that could be explained are the rows
  without the target.
Provably cannot: No row within the values and constraints reaches the target. This was proved for every such row.
Open: A limit stopped the search before it found a change or a proof that there is none, or the model did not confirm the
  change that was found. These rows count neither as reaching the target nor as unable to reach it.
Cost: The cost of the cheapest change of a row, as the question defines it. The median is the least cost that covers at least
  half of the rows with a change, and the quartiles are those that cover a quarter and three quarters.
Cost for half of those without the target: The least cost within which at least half of the rows without the target reach it.
  It is not reachable if fewer than half can reach the target at all.
Missing values: If the pipeline imputes a missing value, the cost and the limits of a change count from the imputed value. A
  change that fills in a missing value has no old value, so it is counted but left out of the sizes of the changes.
95 % interval: For differences of shares, Newcombe's interval (1998), made of Wilson's intervals of the two shares, which has
  its width at 0 and 100 % too. For medians and means, a percentile interval from 10,000 bootstrap samples. Groups with few
  rows have none. A difference is called clear if its interval does not contain 0. The intervals are not adjusted for the
  number of differences in the report: of 20 differences between equal groups, one is expected to look clear.
Groups that differ most: Each group, and each pair of groups of two columns, is compared with all other rows: the share with
  the target and the share without recourse by the chi-square test, or by Fisher's exact test if an expected count is below 5;
  the costs by the Mann-Whitney test with correction for ties. Holm's method adjusts the p-values: if no groups differ, the
  chance that any comparison is called significant is at most 5 %.
Adverse impact ratio: The share of a group that has the target, of its rows that could be explained, divided by the highest
  such share of a group with enough rows. Some authorities in the USA look closer at a ratio below 0.8 (the four-fifths rule).
  It is a rule of thumb: it depends on which groups are formed, takes no account of chance or of reasons, and a ratio above
  0.8 shows nothing by itself.
Equal effectiveness: The share of the rows without the target that can reach it: the feasibility of recourse (Ustun, Spangher
  and Liu 2019). In FACTS (Kavouras et al. 2023), groups are treated equally if this share is equal; each row uses the change
  that suits it best.
Equal effectiveness within budget: The share of the rows without the target that reach it at a cost of at most the budget
  (FACTS).
Equal cost of effectiveness: The least cost within which a given share of the rows without the target reach it (FACTS).
Equal choice of recourse: The number of sets of features that serve at least a given share of the rows without the target. A
  set serves a row if changing features of the set alone reaches the target, which another search decides, for the most
  frequent sets and a sample of the rows. FACTS counts actions; here, sets of features are the actions. A number such as 0 to
  2 means that for two sets, the 95 % interval of the share that they serve (Wilson 1927) contains the given share.
Equal conditional mean recourse: The mean cost of the rows that can reach the target: the cost of recourse (Ustun et al. 2019;
  FACTS).
Fair effectiveness-cost trade-off: The largest difference, over all costs, between the shares of two groups that reach the
  target: the distance of Kolmogorov and Smirnov (FACTS).
""")
REFERENCES = _items("""
B. Ustun, A. Spangher, Y. Liu: Actionable Recourse in Linear Classification. Proceedings of the Conference on Fairness,
  Accountability, and Transparency (FAT* 2019), pages 10-19.
R. G. Newcombe: Interval Estimation for the Difference between Independent Proportions. Statistics in Medicine 17, 1998, pages
  873-890.
L. Kavouras, K. Tsopelas, G. Giannopoulos, D. Sacharidis, E. Psaroudaki, N. Theologitis, D. Rontogiannis, D. Fotakis, I.
  Emiris: Fairness Aware Counterfactuals for Subgroups. Advances in Neural Information Processing Systems 36 (NeurIPS 2023).
""")
LIMITS = _items("""
A model's costs are not the world's. The cost says how far the model requires a row to move, in the units of the question. It
  does not say how hard that is for a person.
The proofs are about the model. A change that turns the model's answer need not be possible for a person, and need not improve
  anything outside of the model, such as the chance that a loan is repaid.
Causes are unknown. Changing one feature may change others in the world; the report changes only the features it names.
The figures are about the rows of this table. Intervals describe the sampling of rows, under the assumption that they are a
  random sample. They do not describe errors in the data or another population.
Small groups have wide intervals or none, and a difference that is not significant is not a proof that there is none.
Equal figures do not show that a model is fair, and a difference does not show by itself that it is unlawful.
""")
