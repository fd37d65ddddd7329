// What a region costs at least where the cost couples features: as ``bound.hpp``, with a tangent to the coupled part.
//
// Q - diag(kept) is positive semidefinite, so that for every y
//
//     d' Q d >= sum_d kept_d d^2 + 2 slope_d d - y' slope,    slope = (Q - diag(kept)) y,
//
// and what multipliers prove of the right side, feature by feature, holds for the left. On groups and grids nothing is relaxed.
// The bound is one in exact arithmetic: whatever rounding may have added is taken off.
#pragma once

#include "bound.hpp"

namespace counterleaf {

/// A row of the user's holds if it misses by no more than this; per row.
std::vector<double> gives_of(const Question& question);

/// What is known of a path's rows: w @ source + b, and the give of the user's, which come first.
struct Known {
    Constants at_source, give;
};

/// The bound that the multipliers ``lam`` and the tangent at ``y`` prove of the box's rows.
///
/// Where a price exceeds by rounding the slope of a feature that is flat and unbounded, ``lam`` is scaled down a hair.
double proved_by_tangent(const Question& question, const Path& path, const Box& box, const Known& known, Numbers lam,
                         Constants y, Scratch& scratch);

/// What a row misses at the source, w @ d >= this; a user's row that misses by no more than its give misses nothing.
double missed_at_source(const Question& question, const Path& path, const Known& known, std::size_t t);

}  // namespace counterleaf
