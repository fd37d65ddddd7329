// Proofs that a region is empty, valid in real arithmetic: every sum includes a bound on its rounding error.
//
// A region is empty if no point of its box satisfies some combination of its rows. Where floating point cannot decide, the
// search is numerically uncertain, and only exact arithmetic can decide.
#pragma once

#include "bound/bound.hpp"

namespace counterleaf {

/// Whether the multipliers ``lam`` certainly contradict the rows of a path in a box, with wide tolerances on the user's rows.
bool is_empty(const Question& question, const Path& path, const Box& box, Constants at_source, Constants lam, Scratch& scratch);

/// Whether two splits of a path are opposite to each other, so that only points on their common face are left, and one side
/// does not include the face. ``lam`` then receives the multipliers with which they cancel.
bool are_opposed(const Question& question, const Path& path, Numbers lam);

}  // namespace counterleaf
