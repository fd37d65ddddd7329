// Rows next to a point that lies on the faces of a leaf too thin to move them inwards.
//
// Between two nearly parallel splits only some of the numbers that the model can hold are in the leaf, and which ones is up to
// the rounding of the model's own sums. A fixed sequence of small moves looks for some; the cheapest is as good as any.
#pragma once

#include "bound/box.hpp"
#include "question/question.hpp"

namespace counterleaf {

struct Path;

/// Write into ``x`` the cheapest row that was found around ``centre``; false if none was.
bool find_neighbour(const Question& question, const Path& path, const Box& box, Constants centre, std::vector<double>& x);

}  // namespace counterleaf
