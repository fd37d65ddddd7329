// Projected Newton method on the dual of one region's problem, with an exact line search.
//
// The dual of ``program`` has one variable per row:
//
//     q(lam) = lam @ r + sum_j min_{lower_j <= d_j <= upper_j} phi_j(d_j) - price_j d_j,   price = A' lam.
//
// It is concave, and it is once differentiable and piecewise quadratic if every phi_j is curved. Its gradient is r - A d(lam),
// its curvature A D A' with D_j = 1 / phi_j'' on the features strictly between the kink and a bound. Any lam with lam >= 0 on
// the inequalities gives a lower bound, so a failure cannot make a bound wrong.
//
// A one-hot group does not need a row: at given prices, z is the projection of (price_k - slope_k) / s on the unit simplex, and
// the curvature is that of the columns in its support minus their mean.
#pragma once

#include "separable/program.hpp"

namespace counterleaf {

/// Solve from the multipliers ``lam``; every phi_j must be curved where it can move.
///
/// Converged: the solution is in ``lam`` and ``delta``, the value is q. Infeasible: ``ray`` is a Farkas vector. Stuck (rounding
/// stops progress): q is still a valid lower bound.
Bound newton(const Program& program, Numbers lam, Numbers delta, Numbers ray, Scratch& scratch);

/// The same with minimal damping, for rows that are nearly opposite to each other.
Bound newton_finely(const Program& program, Numbers lam, Numbers delta, Numbers ray, Scratch& scratch);

}  // namespace counterleaf
