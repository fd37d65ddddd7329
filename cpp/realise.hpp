// A region's point as a row: on the model's numbers and the table's values, routed as the model does, priced.
#pragma once

#include "bound.hpp"
#include "box.hpp"
#include "question.hpp"

namespace counterleaf {

/// The point as a row: bounds and what is unchanged bit for bit, groups and grids on their nearest values, the rest on the
/// model's numbers; ``coarse`` rounds those to float32.
void place(const Question& question, Constants change, const Box& box, bool coarse, Numbers x);

/// Whether the model sends x down every split of the path, with the margin.
///
/// The slack of a split that it misses is raised: to twice the rounding of its sum, then twofold.
bool is_routed(const Question& question, Constants x, const Path& path, Numbers slack);

/// Whether x obeys the user's rows, but for 1e-9 of their terms.
bool obeys(const Question& question, Constants x);

/// What the row x costs, class cost left out.
double cost_of(const Question& question, Constants x);

/// The square of the change, each feature in units of its cost.
double length(const Question& question, Constants x);

}  // namespace counterleaf
