// Rows next to a point on the faces of a leaf that is too thin to move the faces inwards.
//
// Between two nearly parallel splits, the rounding of the model's sums decides which floating-point rows are in the leaf. A
// fixed sequence of small moves searches for some of them and keeps the cheapest.
#pragma once

#include "bound/box.hpp"
#include "question/question.hpp"

namespace counterleaf {

struct Path;

/// Write the cheapest row found around ``centre`` to ``x``; returns false if there is none.
bool find_neighbour(const Question& question, const Path& path, const Box& box, Constants centre, std::vector<double>& x);

}  // namespace counterleaf
