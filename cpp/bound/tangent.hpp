// What a region costs at least where the cost couples features: as ``bound.hpp``, with a tangent to the coupled part.
//
// Q - diag(kept) is positive semidefinite, so that for every y
//
//     d' Q d >= sum_d kept_d d^2 + 2 slope_d d - y' slope,    slope = (Q - diag(kept)) y,
//
// and what multipliers prove of the right side, feature by feature, holds for the left. On groups and grids nothing is relaxed.
// The bound is one in exact arithmetic: whatever rounding may have added is taken off.
#pragma once

#include "bound/bound.hpp"

namespace counterleaf {

/// The bound that the multipliers ``lam`` and the tangent at ``y`` prove of the box's rows; ``at_source`` as in
/// ``prove_bound``.
///
/// Where a price exceeds by rounding the slope of a feature that is flat and unbounded, ``lam`` is scaled down a hair.
double prove_bound_by_tangent(const Question& question, const Path& path, const Box& box, Constants at_source, Numbers lam,
                              Constants y, Scratch& scratch);

}  // namespace counterleaf
