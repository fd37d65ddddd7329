// Sparse logistic regression (see logistic.hpp) for many columns: coordinate descent works on the columns of the rows, of those
// whose weight is not zero or should not be.
#pragma once

#include "learn/logistic.hpp"

namespace counterleaf::learn {

/// Move ``split`` towards the optimum, until the slopes that the optimum would not have sum up to no more than the share
/// ``effort.tolerance`` of the weight of the rows.
///
/// Each pass visits the coordinates in a random order (of a fixed seed). Coordinates at zero whose slope is well inside lam
/// rest until the others have settled.
void fit_wide(const Problem& problem, Split& split, const Effort& effort, Scratch& scratch);

}  // namespace counterleaf::learn
