// The charges that the rows of a region force: changes that no row of the table can do without.
//
// Let the features that change anyway (see ``change_sum.hpp``) take their best values for a row of the path, and let the others
// stay. If the row then still misses its offset, some of the others have to change: at least k of them, where the k largest
// contributions are just enough. They pay at least the k smallest charges of the features that contribute to this row.
#pragma once

#include "bound/bound.hpp"

namespace counterleaf {

/// The largest sum of charges that one row of the path forces; 0 if nothing is charged.
double forced_charges(const Question& question, const Path& path, const Box& box);

}  // namespace counterleaf
