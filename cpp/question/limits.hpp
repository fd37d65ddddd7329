// The constraints of the user.
#pragma once

#include <cstddef>
#include <vector>

#include "question/tree.hpp"

namespace counterleaf {

struct Interval {
    int variable;
    double lower, upper;
};

/// A row lies in the first box, the entries begin .. middle, or in the second, middle .. end.
struct Clause {
    int begin, middle, end;
};

/// The user's constraints.
struct Limits {
    std::size_t width = 0, lines = 1;  // of variables; of sources, or 1 for all
    std::vector<double> lower, upper;  // a line per source
    bool widens = false;               // a source outside of the box widens it
    std::vector<int> not_choosable;    // 0/1 variables that may stay but not be chosen: a missing value
    Rows rows;                         // coef @ x + bias >= 0, equalities (= 0) first
    std::size_t equal = 0;
    int most = -1;  // features that may change, -1 for any number
    std::vector<Clause> clauses;
    std::vector<int> where;                        // the variables of the clauses' entries
    std::vector<double> entry_lower, entry_upper;  // a line of entries per source

    bool counts_changes() const { return most >= 0; }
};

}  // namespace counterleaf
