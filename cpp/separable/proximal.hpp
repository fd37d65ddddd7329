// One region's problem where the costs of some features are curved and those of others are flat: proximal points, then an exact
// solution.
//
// Adding c (d - centre)^2 to a flat feature keeps the form of phi (its slopes decrease by 2 c centre), so ``newton`` applies.
// Moving the centre to each solution converges to the optimum. Long before that, the solution shows which rows are tight and
// which flat features rest between their kinks. They define one small linear system whose solution is exact.
#pragma once

#include "separable/program.hpp"

namespace counterleaf {

/// Solve from the multipliers ``lam``; ``program`` must not have groups in closed form.
///
/// Converged: the solution is in ``lam`` and ``delta``. Infeasible: ``ray`` is a Farkas vector. Stuck: any lam gives a valid
/// bound.
Status proximal(const Program& program, Numbers lam, Numbers delta, Numbers ray, Scratch& scratch);

}  // namespace counterleaf
