// What a region costs at least, from multipliers alone: no solve, and nothing is relaxed.
//
// Given lam >= 0 on the rows A d >= r of a path (lam of any sign on equalities), every row x of the table in the box costs at
// least
//
//     lam @ r + sum over numbers of min phi_d(d) - price_d d, on the grid + sum over groups of the best value,
//
// with price = A' lam. Where only k features may change, only the k of them count that gain most by it (see
// ``limited_sum.hpp``). Without multipliers this is the box's bound: each feature on its own (theorems 3.2 and 3.3).
#pragma once

#include "base/scratch.hpp"
#include "bound/box.hpp"
#include "bound/multiplier_scale.hpp"
#include "question/question.hpp"

namespace counterleaf {

/// The rows of a region: the user's, then its path's from the root down.
struct Path {
    std::vector<int> row;
    std::vector<double> sign;

    std::size_t size() const { return row.size(); }
};

/// Every term of the prices A' lam: ``add`` gets its variable and the two numbers whose product it is.
template <class Add>
void each_price_term(const Question& question, const Path& path, Constants lam, Add add) {
    for (std::size_t t = 0; t < path.size(); ++t) {
        if (lam[t] == 0.0) continue;
        const Terms terms = question.row(path.row[t]);
        for (std::size_t k = 0; k < terms.size(); ++k) add(terms.columns[k], lam[t], path.sign[t] * terms.weights[k]);
    }
}

/// A change of one number and what it costs, less what it is worth at a price.
struct BestChange {
    double change, worth;
};

/// The ends of a number in a box; one that is only the horizon is none.
inline double true_lower(const Question& question, const Box& box, std::size_t d) {
    return question.features.horizon[d] < 0.0 && box.lower(d) == question.features.lower[d] ? -INF : box.lower(d);
}
inline double true_upper(const Question& question, const Box& box, std::size_t d) {
    return question.features.horizon[d] > 0.0 && box.upper(d) == question.features.upper[d] ? INF : box.upper(d);
}

/// The best change of number d at a price, within [lower, upper] and on its grid.
BestChange best_change(const Question& question, std::size_t d, double price, double lower, double upper);

/// The cheapest value left in a group: of equals the source's own, else the first.
int cheapest(const Question& question, std::size_t g, Constants upper);

/// Number d of the row that a change leads to: ends of the box bit for bit, on its grid.
double changed_number(const Question& question, std::size_t d, double change, double lower, double upper);

/// The bound of a box on its own, which is what its cheapest row costs; ``change`` gets that row.
double box_bound(const Question& question, const Box& box, Numbers change);

/// The bound that the multipliers ``lam`` prove of the box's rows, in real arithmetic; ``at_source`` is w @ source + b of each
/// row of the path. Multipliers shrink by a hair where prices would leave their slopes; not ``sure`` where that is not enough.
ProvedBound prove_bound(const Question& question, const Path& path, const Box& box, Constants at_source, Numbers lam,
                        Scratch& scratch);

/// The same as if in twice the precision, for large multipliers that cancel.
ProvedBound prove_bound_closely(const Question& question, const Path& path, const Box& box, Numbers lam, Scratch& scratch);

}  // namespace counterleaf
