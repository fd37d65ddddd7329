// What a search has found, as claims: which leaves, at what cost, and what no row can undercut.
#pragma once

#include "search/search.hpp"

namespace counterleaf {

enum class Verdict : std::uint8_t { Optimal, Infeasible, Limit, Unbounded };

struct Report {
    Verdict verdict;
    std::vector<int> states;     // of the answers, in order of cost, then of leaf
    std::vector<double> bounds;  // of their leaves
    double lower_bound;          // what no row can undercut, whatever the verdict
};

Report report(const Memory& memory, Ending ending, std::size_t wanted);

}  // namespace counterleaf
