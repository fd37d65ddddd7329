// The cost of a row of the table.
#pragma once

#include "question/question.hpp"

namespace counterleaf {

/// The coupled part of the cost of the row x.
Sum coupled_sum(const Question& question, Constants x);

/// The charges of the features that change in the row x.
double charges_of(const Question& question, Constants x);

/// The cost of the row x without the class cost.
double cost_of(const Question& question, Constants x);

/// The squared length of the change, with each feature in units of its cost.
double length(const Question& question, Constants x);

}  // namespace counterleaf
