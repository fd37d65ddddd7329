// The variables of a table.
#pragma once

#include <vector>

#include "question/step.hpp"

namespace counterleaf {

/// Which variables form a group, and which numbers are on a grid.
struct Layout {
    std::vector<int> group;    // of a 0/1 variable, -1 for a number
    std::vector<int> feature;  // that a variable belongs to
    std::vector<Step> step;
    std::vector<int> first, last;  // of a group: its first variable, and the one after its last
    bool plain = true;             // neither groups nor grids

    bool is_number(std::size_t d) const { return group[d] < 0; }
    std::size_t groups() const { return first.size(); }
};

}  // namespace counterleaf
