// The question about one row, and its answer.
#pragma once

#include <cstdint>
#include <span>

#include "base/numbers.hpp"
#include "base/threads.hpp"

namespace counterleaf::axis_aligned {

/// The question about one row. A row with NaN or with a number beyond ``limit`` is Unanswered.
struct Query {
    Constants row;
    Constants least;         // the least class cost of a leaf below each node, INF if none is a target
    Constants lower, upper;  // of each variable
    double limit;
    std::span<const std::int8_t> members;  // one line of marks per limit on changes, with one mark per feature
    std::span<const std::int64_t> most;    // of each limit: how many of the marked features may change
};

struct Found {
    Outcome outcome = Outcome::None;
    int leaf = -1;
    double cost = INF;
};

}  // namespace counterleaf::axis_aligned
