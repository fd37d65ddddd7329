// The user's constraints: bounds, linear rows, clauses, and limits on the number of changes.
#pragma once

#include <cstddef>
#include <vector>

#include "question/tree.hpp"

namespace counterleaf {

struct Interval {
    int variable;
    double lower, upper;
};

/// A row must lie in one of two boxes: the entries begin .. middle, or the entries middle .. end.
struct Clause {
    int begin, middle, end;
};

/// At most ``most`` of the features in a set change.
struct ChangeLimit {
    std::vector<char> members;  // per feature
    int most;
};

/// The constraints, for all sources or with one line of bounds per source.
struct Limits {
    std::size_t width = 0, lines = 1;  // the number of variables; the number of sources, or 1 for all
    std::vector<double> lower, upper;  // one line per source
    bool widens = false;               // a source outside of the box widens it
    std::vector<int> not_choosable;    // 0/1 variables that may stay 1 but not become 1: missing values
    Rows rows;                         // coef @ x + bias >= 0; the equalities (= 0) come first
    std::size_t equal = 0;
    std::vector<ChangeLimit> changes;
    std::vector<Clause> clauses;
    std::vector<int> where;                        // the variables of the clauses' entries
    std::vector<double> entry_lower, entry_upper;  // one line of entries per source
};

}  // namespace counterleaf
