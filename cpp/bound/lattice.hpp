// Whole numbers and equalities: a region without a row because of divisibility.
//
// In a box, what can still move in the user's equalities is a number on a grid, in units of its step, a 0/1 variable, or a
// number without a grid. A combination y of the equalities in which no number without a grid is left, and everything else has
// a whole coefficient, can only be 0 if its constant is a whole number. Such combinations come from the Hermite normal form:
//
//     A U = [H 0],   U unimodular, H lower triangular,      y = a line of the inverse of H,
//
// with A the equalities once the numbers without a grid are eliminated. If every such y has a whole constant, some whole
// numbers obey the equalities, though they may lie outside of the box.
//
// A coefficient counts as the simplest fraction that is the same double: 0.1 as one tenth.
#pragma once

#include "bound/box.hpp"

namespace counterleaf {

/// What divisibility says of a box.
struct Divisibility {
    double denominator = 0.0;  // positive: the box is empty, by the combination y_t = over[t] / under
    int off_grid = -1;         // or it were but for this variable, whose source is in the box and beside its grid
};

/// Whether the equalities leave no row in a box; ``over`` gets a whole number per row of the user's.
Divisibility divide(const Question& question, const Box& box, Numbers numerator);

}  // namespace counterleaf
