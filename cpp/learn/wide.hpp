// Sparse logistic regression (see logistic.hpp) for many columns: coordinate descent on the columns whose weights are, or
// should be, nonzero.
#pragma once

#include "learn/logistic.hpp"

namespace counterleaf::learn {

/// Move ``split`` towards the optimum until the excess of the slopes is at most the share ``effort.tolerance`` of the weight of
/// the rows.
///
/// Each pass visits the coordinates in a random order with a fixed seed. Coordinates at zero whose slope is well below lam rest
/// until the others have converged.
void fit_wide(const Problem& problem, Split& split, const Effort& effort, Scratch& scratch);

}  // namespace counterleaf::learn
