// A region's point as a row: on the model's numbers and the table's values, routed as the model does, priced.
#pragma once

#include "bound/bound.hpp"
#include "bound/box.hpp"
#include "question/question.hpp"

namespace counterleaf {

/// The point as a row: bounds and what is unchanged bit for bit, groups and grids on their nearest values, the rest on the
/// model's numbers; ``coarse`` rounds those to float32.
void place(const Question& question, Constants change, const Box& box, bool coarse, Numbers x);

/// Where the splits of a path send a row: somewhere else, down the path as the model adds up, or down it however one adds up.
enum class Routed : std::uint8_t { Elsewhere, Barely, Safely };

/// Where the model sends x, with the margin.
///
/// The slack of a split that it does not pass safely is raised: to twice the rounding of its sum, then twofold.
Routed routed(const Question& question, Constants x, const Path& path, Numbers slack);

/// Whether the model itself sends x down every split of the path, with the margin.
bool is_routed(const Question& question, Constants x, const Path& path);

/// Whether x misses no split of the path by more than rounding may do.
bool is_close(const Question& question, Constants x, const Path& path);

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

/// What the row x costs where the cost couples features, beyond what it costs feature by feature.
Sum coupled_sum(const Question& question, Constants x);

/// Whether x obeys the user's rows, but for 1e-9 of their terms.
bool obeys(const Question& question, Constants x);

/// What the row x costs, class cost left out.
double cost_of(const Question& question, Constants x);

/// The square of the change, each feature in units of its cost.
double length(const Question& question, Constants x);

}  // namespace counterleaf
