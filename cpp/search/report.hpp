// The claims of a search: which leaves, at what cost, and a lower bound on every row.
#pragma once

#include "search/search.hpp"

namespace counterleaf {

enum class Verdict : std::uint8_t { Optimal, Infeasible, Limit, Unbounded };

struct Report {
    Verdict verdict;
    std::vector<int> states;     // of the answers, in order of cost, then of leaf
    std::vector<double> bounds;  // of their leaves
    double lower_bound;          // no row costs less; valid for every verdict
};

Report report(const Memory& memory, Ending ending, std::size_t wanted);

}  // namespace counterleaf
