// Projected Newton on the dual of one region's problem, with an exact line search.
//
// Dual of ``program``, one variable per row:
//
//     q(lam) = lam @ r + sum_j min_{lower_j <= d_j <= upper_j} phi_j(d_j) - price_j d_j,   price = A' lam,
//
// concave, once differentiable and piecewise quadratic where every phi_j is curved. Its gradient is r - A d(lam), its
// curvature A D A' with D_j = 1 / phi_j'' on the features strictly between the kink and a bound. Any lam with lam >= 0 on
// the inequalities gives a lower bound, so no failure can make one wrong.
//
// A one-hot group needs no row of its own: given the prices, z is the projection of (price_k - slope_k) / s on the unit
// simplex, and the curvature is that of the columns in its support, less their mean.
#pragma once

#include "separable/program.hpp"

namespace counterleaf {

/// Solve from the multipliers ``lam``; every phi_j must be curved where it can move.
///
/// Converged: the solution is in ``lam`` and ``delta``, the value is q. Infeasible: a Farkas vector is in ``ray``.
/// Stuck, where rounding stops progress: q is still a valid lower bound.
Bound newton(const Program& program, Numbers lam, Numbers delta, Numbers ray, Scratch& scratch);

/// The same for rows that are nearly the opposite of each other: nothing is damped that tells them apart.
Bound newton_finely(const Program& program, Numbers lam, Numbers delta, Numbers ray, Scratch& scratch);

}  // namespace counterleaf
