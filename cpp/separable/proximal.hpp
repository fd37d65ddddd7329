// One region's problem where some features' costs are curved and others are flat: proximal points, then exact.
//
// Adding c (d - centre)^2 to a flat feature keeps phi's form (its slopes fall by 2 c centre), so ``newton`` applies; moving the
// centre to each answer leads to the optimum. Long before it gets there, the answer shows which rows are tight and which flat
// features rest between their kinks. Those name one small linear system whose solution is exact.
#pragma once

#include "separable/program.hpp"

namespace counterleaf {

/// Solve from the multipliers ``lam``; ``program`` has no groups in closed form.
///
/// Converged: the solution is in ``lam`` and ``delta``. Infeasible: a Farkas vector is in ``ray``. Stuck: any lam bounds.
Status proximal(const Program& program, Numbers lam, Numbers delta, Numbers ray, Scratch& scratch);

}  // namespace counterleaf
