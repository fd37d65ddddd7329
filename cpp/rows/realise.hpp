// A region's point as a row: on the model's numbers and the table's values, routed as the model does, priced.
#pragma once

#include "bound/bound.hpp"

namespace counterleaf {

/// The point as a row: bounds and what is unchanged bit for bit, groups and grids on their nearest values, the rest on the
/// model's numbers; ``coarse`` rounds those to float32.
void place(const Question& question, Constants change, const Box& box, bool coarse, Numbers x);

/// Whether x obeys the user's rows, to the share of its terms that an answer may miss them by.
bool obeys(const Question& question, Constants x);

/// Move the numbers of x that are free off the faces of a path, so far that x passes every split however one adds up; false if
/// that does not succeed. At a region's best point no way off the faces is dearer than another, as long as only numbers move
/// that are free to.
bool push(const Question& question, const Path& path, const Box& box, bool coarse, Numbers x, Scratch& scratch);

/// Move the numbers of x that are free onto the user's rows that it misses; false if it goes on to miss one.
bool mend(const Question& question, const Box& box, Numbers x, Scratch& scratch);

/// Cut the last digits off the numbers of x that may take any value; whether it then passes every split however one adds up.
bool is_tidy(const Question& question, const Path& path, const Box& box, Numbers x);

}  // namespace counterleaf
