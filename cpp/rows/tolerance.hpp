// How much a row may cost above the bound of its region and still count as its best row.
#pragma once

#include "bound/bound.hpp"

namespace counterleaf {

/// Whether multipliers are far larger than the slope of the cost at x, as between faces that nearly coincide.
bool is_thin(const Question& question, const Path& path, const Box& box, Constants lam, Constants x);

/// How much the row x may cost above the bound of its region; ``cost`` is its class cost.
double allowed(const Question& question, const Path& path, const Box& box, Constants x, double cost);

}  // namespace counterleaf
