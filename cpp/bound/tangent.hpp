// A lower bound on the cost of a region where the cost couples features: as ``bound.hpp``, with a tangent to the coupled part.
//
// Q - diag(tangent_curve) is positive semidefinite, so for every y
//
//     d' Q d >= sum_d tangent_curve_d d^2 + 2 slope_d d - y' slope,    slope = (Q - diag(tangent_curve)) y.
//
// A bound that multipliers prove for the right side, feature by feature, also holds for the left side. Groups and grids are not
// relaxed. The bound holds in real arithmetic: rounding errors are subtracted.
#pragma once

#include "bound/bound.hpp"

namespace counterleaf {

/// The bound that the multipliers ``lam`` and the tangent at ``y`` prove for the rows of a box; ``at_source`` as in
/// ``prove_bound``.
///
/// Where rounding makes a price exceed the slope of an unbounded flat feature, ``lam`` is reduced slightly; where that slope is
/// 0, the bound is not ``sure``.
ProvedBound prove_bound_by_tangent(const Question& question, const Path& path, const Box& box, Constants at_source, Numbers lam,
                                   Constants y, Scratch& scratch);

}  // namespace counterleaf
