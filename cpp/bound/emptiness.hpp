// What is certain about the claims of a search: every sum here is taken with all that rounding may have done to it.
//
// A region is empty if a combination of its rows cannot be met in its box. A row of a leaf is its best if it costs its bound,
// to a share of its terms and to what its place on the faces costs. Where floating point cannot decide, the search is in doubt,
// and only exact arithmetic can settle the claim.
#pragma once

#include "bound/bound.hpp"

namespace counterleaf {

/// Whether the multipliers ``lam`` contradict the rows of a path in a box for sure, the user's rows widened.
bool is_empty(const Question& question, const Path& path, const Box& box, Constants at_source, Constants lam, Scratch& scratch);

/// Whether two splits of a path say the opposite of each other, so that only their face would do, and one does not hold it.
/// ``lam`` then gets the multipliers that add up to nothing.
bool are_opposed(const Question& question, const Path& path, Numbers lam);

}  // namespace counterleaf
