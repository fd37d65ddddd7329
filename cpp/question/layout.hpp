// The variables of a table: numbers, some of them on grids, and one-hot groups.
#pragma once

#include <vector>

#include "question/step.hpp"

namespace counterleaf {

/// The grid of each variable.
struct Grids {
    std::vector<Step> steps;
};

/// The group, the feature and the grid of each variable.
struct Layout {
    std::vector<int> group;    // of a 0/1 variable; -1 for a number
    std::vector<int> feature;  // to which the variable belongs, in increasing order
    std::vector<Step> step;
    std::vector<int> first, last;  // of each group: its first variable, and one past its last
    bool plain = true;             // neither groups nor grids

    bool is_number(std::size_t d) const { return group[d] < 0; }
    std::size_t groups() const { return first.size(); }
    std::size_t features() const { return feature.empty() ? 0 : static_cast<std::size_t>(feature.back()) + 1; }
};

}  // namespace counterleaf
