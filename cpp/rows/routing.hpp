// Where a row goes at the splits of a path, in the arithmetic of the model.
#pragma once

#include "bound/bound.hpp"

namespace counterleaf {

/// Where the splits of a path send a row: elsewhere; down the path in the model's order of summation; or down the path in any
/// order.
enum class Routed : std::uint8_t { Elsewhere, Barely, Safely };

/// Where x goes at a split that it must pass on the side of ``sign``; ``seen`` is the sum of the split in the arithmetic of the
/// model.
Routed routed_at(const Question& question, Constants x, int row, double sign, const Sum& seen);

/// Where the model sends x, with the margin.
///
/// The slack of a split that x does not pass safely is raised: at first to twice the rounding error of its sum, then to twice
/// its value.
Routed routed(const Question& question, Constants x, const Path& path, Numbers slack);

/// Whether the model sends x down every split of the path, with the margin.
bool is_routed(const Question& question, Constants x, const Path& path);

/// Whether x misses every split of the path by no more than rounding.
bool is_close(const Question& question, Constants x, const Path& path);

}  // namespace counterleaf
