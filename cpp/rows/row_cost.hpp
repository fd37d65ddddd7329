// The cost of a row of the table.
#pragma once

#include "question/question.hpp"

namespace counterleaf {

/// What the row x costs where the cost couples features, beyond what it costs feature by feature.
Sum coupled_sum(const Question& question, Constants x);

/// What the row x costs, class cost left out.
double cost_of(const Question& question, Constants x);

/// The square of the change, each feature in units of its cost.
double length(const Question& question, Constants x);

}  // namespace counterleaf
