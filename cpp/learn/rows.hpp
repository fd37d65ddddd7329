// The training rows of the learner, and samples of them as the problem of one split.
//
// Rows are compressed: only nonzero entries are stored, in the order of their columns.
#pragma once

#include <cstdint>

#include "base/scratch.hpp"

namespace counterleaf::learn {

/// The entries of one row.
struct Entries {
    std::span<const std::int32_t> columns;
    Constants values;

    std::size_t size() const { return columns.size(); }

    /// x @ w in four partial sums, which the processor adds in parallel.
    double dot(Constants w) const {
        double a = 0.0, b = 0.0, c = 0.0, d = 0.0;
        std::size_t k = 0;
        for (; k + 4 <= size(); k += 4) {
            a += values[k] * w[columns[k]];
            b += values[k + 1] * w[columns[k + 1]];
            c += values[k + 2] * w[columns[k + 2]];
            d += values[k + 3] * w[columns[k + 3]];
        }
        for (; k < size(); ++k) a += values[k] * w[columns[k]];
        return (a + b) + (c + d);
    }
};

struct Rows {
    std::span<const std::int64_t> starts;  // row r has the entries from starts[r] to starts[r + 1]
    std::span<const std::int32_t> columns;
    Constants values;
    std::size_t width;

    std::size_t size() const { return starts.size() - 1; }
    /// The share of nonzero entries.
    double fill() const {
        return static_cast<double>(values.size()) / (static_cast<double>(size()) * static_cast<double>(width));
    }

    Entries operator[](std::size_t r) const {
        const auto first = static_cast<std::size_t>(starts[r]), count = static_cast<std::size_t>(starts[r + 1]) - first;
        return {columns.subspan(first, count), values.subspan(first, count)};
    }
};

/// Some rows, each with a weight and the side of a split to which it should go.
struct Sample {
    std::span<const int> rows;
    Constants side;  // 1: right, -1: left
    Constants weight;

    std::size_t size() const { return rows.size(); }
};

/// A row goes right iff x @ w + b >= 0.
struct Split {
    Numbers w;
    double b;

    double at(const Entries& x) const { return x.dot(w) + b; }
    bool sends_right(const Entries& x) const { return at(x) >= 0.0; }
};

/// The weight of the rows that go to the wrong side.
double misses(const Rows& rows, const Sample& sample, const Split& split);

/// x @ w of some rows, summed in the order of the columns.
void project(const Rows& rows, std::span<const int> chosen, Constants w, Numbers out);

/// The sum of the rows of each group, each row times its weight: ``out`` is (groups, width).
void sum_groups(const Rows& rows, std::span<const int> chosen, std::span<const int> group, Constants weight, const Grid& out);

}  // namespace counterleaf::learn
