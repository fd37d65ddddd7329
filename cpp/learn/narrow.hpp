// Sparse logistic regression (see logistic.hpp) for few columns: the Hessian of the loss is written down.
#pragma once

#include "learn/logistic.hpp"

namespace counterleaf::learn {

/// Move ``split`` towards the optimum, until a step lowers the objective by no more than the share ``effort.tolerance``.
void fit_narrow(const Problem& problem, Split& split, const Effort& effort, Scratch& scratch);

}  // namespace counterleaf::learn
