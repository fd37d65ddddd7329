// Where a row goes at the splits of a path, in the arithmetic of the model.
#pragma once

#include "bound/bound.hpp"

namespace counterleaf {

/// Where the splits of a path send a row: somewhere else, down the path as the model adds up, or down it however one adds up.
enum class Routed : std::uint8_t { Elsewhere, Barely, Safely };

/// Where x goes at a split that it is to pass on the side of ``sign``; ``seen`` is the sum of the split as the model adds it
/// up.
Routed routed_at(const Question& question, Constants x, const Terms& terms, double sign, const Sum& seen);

/// Where the model sends x, with the margin.
///
/// The slack of a split that it does not pass safely is raised: to twice the rounding of its sum, then twofold.
Routed routed(const Question& question, Constants x, const Path& path, Numbers slack);

/// Whether the model itself sends x down every split of the path, with the margin.
bool is_routed(const Question& question, Constants x, const Path& path);

/// Whether x misses no split of the path by more than rounding may do.
bool is_close(const Question& question, Constants x, const Path& path);

}  // namespace counterleaf
