// From the point of a region to a row of the table: on grids and values, within the user's rows, and off the faces of the leaf.
#pragma once

#include "bound/bound.hpp"

namespace counterleaf {

/// Write the point as a row: bounds and unchanged numbers bit for bit, groups and grids at their nearest values, other numbers
/// as they are or, if ``coarse``, rounded to float32.
void place(const Question& question, Constants change, const Box& box, bool coarse, Numbers x);

/// Whether x obeys the user's rows within the tolerance of an answer, and the limit on changes.
bool obeys(const Question& question, Constants x);

/// Move the free numbers of x off the faces of a path until x passes every split in any order of summation; returns false if
/// that fails. At the best point of a region all directions off the faces cost the same, as long as only free numbers move.
bool push(const Question& question, const Path& path, const Box& box, bool coarse, Numbers x, Scratch& scratch);

/// Move the free numbers of x onto the user's rows that it misses; returns false if it still misses one.
bool mend(const Question& question, const Box& box, Numbers x, Scratch& scratch);

/// Remove the last digits of the free numbers of x; returns whether it then passes every split in any order of summation.
bool is_tidy(const Question& question, const Path& path, const Box& box, Numbers x);

}  // namespace counterleaf
