// Whole numbers and equalities: a region without a row because of divisibility.
//
// In a box, what can still move in the user's equalities is a number on a grid, in units of its step, a 0/1 variable, or a
// number without a grid. A combination y of the equalities that has no number without a grid, and a whole coefficient of
// everything else, has a whole value but for its constant: if that is no whole number, no row obeys the equalities.
#pragma once

#include <optional>

#include "bound.hpp"

namespace counterleaf {

/// The size of the user's row t: its terms as large as they are at the source, or can be on a grid or in a group.
double size_of(const Question& question, std::size_t t);

/// By how much a row of the user's may be missed by an answer.
inline double wide_of(const Question& question, std::size_t t) { return 1e-9 * size_of(question, t); }

}  // namespace counterleaf
