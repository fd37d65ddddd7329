// What a region costs at least, from multipliers alone: no solve, and nothing is relaxed.
//
// Given lam >= 0 on the rows A d >= r of a path (lam of any sign on equalities), every row x of the table in the box costs at
// least
//
//     lam @ r + sum over numbers of min phi_d(d) - price_d d, on the grid + sum over groups of the best value,
//
// with price = A' lam. Where only k features may change, only the k of them count that gain most by it (see ``tally.hpp``).
// Without multipliers this is the box's bound: each feature on its own (theorems 3.2 and 3.3).
#pragma once

#include "box.hpp"
#include "question.hpp"

namespace counterleaf {

/// The rows of a region: the user's, then its path's from the root down.
struct Path {
    std::vector<int> row;
    std::vector<double> sign;

    std::size_t size() const { return row.size(); }
};

/// A change of one number and what it costs, less what it is worth at a price.
struct Settled {
    double change, worth;
};

/// The best change of number d at a price, within [lower, upper] and on its grid.
Settled settle(const Question& question, std::size_t d, double price, double lower, double upper);

/// The cheapest value left in a group: of equals the source's own, else the first.
int cheapest(const Question& question, std::size_t g, Constants upper);

/// The bound of a box on its own; ``change`` gets the cheapest row in it.
double box_bound(const Question& question, const Box& box, Numbers change);

/// The bound that the multipliers ``lam`` prove of the box's rows; ``at_source`` is w @ source + b of each row of the path.
double proved(const Question& question, const Path& path, const Box& box, Constants at_source, Constants lam, Scratch& scratch);

}  // namespace counterleaf
