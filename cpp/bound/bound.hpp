// A lower bound on the cost of a region, from multipliers alone: nothing is solved and nothing is relaxed.
//
// For lam >= 0 on the rows A d >= r of a path (any sign on equalities), every row x of the table in the box costs at least
//
//     lam @ r + sum over numbers of min phi_d(d) - price_d d, on the grid + sum over groups of the best value,
//
// with price = A' lam. Where only some features may change, or changes are charged, the sum contains only the features that
// gain most (see ``change_sum.hpp``). Without multipliers this is the bound of the box, in which each feature is separate
// (theorems 3.2 and 3.3).
#pragma once

#include "base/rounding.hpp"
#include "base/scratch.hpp"
#include "bound/box.hpp"
#include "question/question.hpp"

namespace counterleaf {

/// The rows of a region: first the user's rows, then those of its path from the root down.
struct Path {
    std::vector<int> row;
    std::vector<double> sign;

    std::size_t size() const { return row.size(); }
};

/// Call ``add`` for every term of the prices A' lam, with its variable and its two factors.
template <class Add>
void each_price_term(const Question& question, const Path& path, Constants lam, Add add) {
    for (std::size_t t = 0; t < path.size(); ++t) {
        if (lam[t] == 0.0) continue;
        const Terms terms = question.row(path.row[t]);
        for (std::size_t k = 0; k < terms.size(); ++k) add(terms.columns[k], lam[t], path.sign[t] * terms.weights[k]);
    }
}

/// A change of one number, and its cost minus its value at a price.
struct BestChange {
    double change, worth;
};

/// The bounds of a number in a box; a horizon is not a bound.
inline double true_lower(const Question& question, const Box& box, std::size_t d) {
    return question.features.horizon[d] < 0.0 && box.lower(d) == question.features.lower[d] ? -INF : box.lower(d);
}
inline double true_upper(const Question& question, const Box& box, std::size_t d) {
    return question.features.horizon[d] > 0.0 && box.upper(d) == question.features.upper[d] ? INF : box.upper(d);
}

/// The best change of number d at a price, within [lower, upper] and on its grid.
BestChange best_change(const Question& question, std::size_t d, double price, double lower, double upper);

/// The cheapest value left in a group; among equals, the value of the source or else the first.
int cheapest(const Question& question, std::size_t g, Constants upper);

/// Number d after a change: on its grid, and equal to a bound of the box bit for bit if the change leads there.
double changed_number(const Question& question, std::size_t d, double change, double lower, double upper);

/// The bound of a box without rows, which is the cost of its cheapest row; ``change`` receives that row.
double box_bound(const Question& question, const Box& box, Numbers change);

/// The bound that the multipliers ``lam`` prove for the rows of a box, in real arithmetic; ``at_source`` is w @ source + b of
/// each row of the path. Multipliers are scaled slightly where prices would exceed their slopes; ``sure`` is false if that is
/// not enough.
ProvedBound prove_bound(const Question& question, const Path& path, const Box& box, Constants at_source, Numbers lam,
                        Scratch& scratch);

/// The same in twice the working precision, for large multipliers that cancel.
ProvedBound prove_bound_closely(const Question& question, const Path& path, const Box& box, Numbers lam, Scratch& scratch);

}  // namespace counterleaf
