// What a row may cost above the bound of its region and still be its best row.
#pragma once

#include "bound/bound.hpp"

namespace counterleaf {

/// Whether multipliers exceed by far what the cost at the row x is worth: between faces that nearly coincide.
bool is_thin(const Question& question, const Path& path, const Box& box, Constants lam, Constants x);

/// What the row x may cost above the bound of its region; ``cost``: its class cost.
double allowed(const Question& question, const Path& path, const Box& box, Constants x, double cost);

}  // namespace counterleaf
