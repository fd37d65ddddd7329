// Sparse logistic regression (see logistic.hpp) for few columns, with an explicit Hessian.
#pragma once

#include "learn/logistic.hpp"

namespace counterleaf::learn {

/// Move ``split`` towards the optimum until a step decreases the objective by at most the share ``effort.tolerance``.
void fit_narrow(const Problem& problem, Split& split, const Effort& effort, Scratch& scratch);

}  // namespace counterleaf::learn
