// Regions that are empty because of divisibility.
//
// In a box, the variables of the user's equalities that can still move are numbers on a grid, counted in steps, 0/1 variables,
// and numbers without a grid. Let y be a combination of the equalities that contains no number without a grid and has integer
// coefficients otherwise. It can be 0 only if its constant is an integer. Such combinations come from the Hermite normal form,
//
//     A U = [H 0],   U unimodular, H lower triangular,      y = a line of the inverse of H,
//
// where A are the equalities after the numbers without a grid are eliminated. If every such y has an integer constant, some
// integers satisfy the equalities, although they may lie outside of the box.
//
// A coefficient represents the simplest fraction that rounds to the same double: 0.1 for one tenth.
#pragma once

#include "bound/box.hpp"

namespace counterleaf {

/// The result of the divisibility test.
struct Divisibility {
    double denominator = 0.0;  // positive: the box is empty, proved by the combination y_t = numerator[t] / denominator
    int off_grid = -1;         // or it would be empty but for this variable, whose source is in the box and off its grid
};

/// Test whether the equalities leave no row in a box; ``numerator`` receives an integer per user row.
Divisibility divide(const Question& question, const Box& box, Numbers numerator);

}  // namespace counterleaf
