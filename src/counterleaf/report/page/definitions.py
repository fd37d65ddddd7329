"""The parts of the page that are the same in every report: definitions and limits."""

DEFINITIONS = (
    (
        "Already has the target",
        "The model says the target for the row as it is. The other rows that could be explained are the rows without the "
        "target.",
    ),
    (
        "Can reach it",
        "There is a row within the bounds and constraints of the question for which the model says the target. The model "
        "itself predicted the target for that row. It is proved to be the cheapest, unless a limit stopped the search.",
    ),
    ("Provably cannot", "No row within the bounds and constraints reaches the target. This was proved for every such row."),
    (
        "Cost",
        "The cost of the cheapest change of a row, as the question defines it. Quartiles and medians are order statistics: the "
        "least cost that covers at least that share of the rows with a change.",
    ),
    (
        "Half of those without the target",
        "The least cost within which at least half of the rows without the target reach it. It is not reachable if fewer "
        "than half can reach the target at all.",
    ),
    (
        "95 % interval",
        "A percentile interval from 10,000 bootstrap samples of the rows that the figure is about. Shares are drawn from the "
        "binomial distribution and medians from the distribution of an order statistic, which is exact. Means of many "
        "different values over more than 1,000 rows use the normal approximation. The intervals are not adjusted for the "
        "number of differences in the report.",
    ),
    (
        "Groups that differ most",
        "Each group, and each pair of groups of two columns, is compared with all other rows. The share without recourse is "
        "compared by the chi-square test, or by Fisher's exact test if an expected count is below 5; the costs by the "
        "Mann-Whitney test with correction for ties. Holm's method adjusts the p-values for all comparisons.",
    ),
    (
        "Equal effectiveness",
        "The share of the rows without the target that can reach it: the feasibility of recourse (Ustun, Spangher and Liu "
        "2019); effectiveness in the micro viewpoint of FACTS (Kavouras et al. 2023), with every allowed change as an action.",
    ),
    (
        "Equal effectiveness within budget",
        "The share of the rows without the target that reach it at a cost of at most the budget (FACTS).",
    ),
    (
        "Equal cost of effectiveness",
        "The least cost within which a given share of the rows without the target reach it (FACTS).",
    ),
    (
        "Equal choice of recourse",
        "The number of sets of features that serve at least a given share of the rows without the target. A set serves a row "
        "if changing features of the set alone reaches the target, which another search decides, for the most frequent sets "
        "and a sample of the rows. FACTS counts actions; here, sets of features are the actions.",
    ),
    (
        "Equal conditional mean recourse",
        "The mean cost of the rows that can reach the target: the cost of recourse (Ustun et al. 2019; FACTS).",
    ),
    (
        "Fair effectiveness-cost trade-off",
        "The largest difference, over all costs, between the shares of two groups that reach the target: the distance of "
        "Kolmogorov and Smirnov (FACTS).",
    ),
)
REFERENCES = (
    "B. Ustun, A. Spangher, Y. Liu: Actionable Recourse in Linear Classification. Proceedings of the Conference on Fairness, "
    "Accountability, and Transparency (FAT* 2019), pages 10-19.",
    "L. Kavouras, K. Tsopelas, G. Giannopoulos, D. Sacharidis, E. Psaroudaki, N. Theologitis, D. Rontogiannis, D. Fotakis, "
    "I. Emiris: Fairness Aware Counterfactuals for Subgroups. Advances in Neural Information Processing Systems 36 "
    "(NeurIPS 2023).",
)
LIMITS = (
    "A model's costs are not the world's. The cost says how far the model requires a row to move, in the units of the "
    "question. It does not say how hard that is for a person.",
    "The proofs are about the model. A change that turns the model's answer need not be possible for a person, and need not "
    "improve anything outside of the model, such as the chance that a loan is repaid.",
    "Causes are unknown. Changing one feature may change others in the world; the report changes only the features it names.",
    "The figures are about the rows of this table. Intervals describe the sampling of rows, under the assumption that they are "
    "a random sample. They do not describe errors in the data or another population.",
    "Small groups have wide intervals, and a difference that is not significant is not a proof that there is none.",
    "Equal figures do not show that a model is fair, and a difference does not show by itself that it is unlawful.",
)
