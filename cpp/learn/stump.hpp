// The best axis-aligned split of weighted rows that should each go to one side, found exactly by sorting every column.
#pragma once

#include <optional>
#include <vector>

#include "learn/logistic.hpp"

namespace counterleaf::learn {

/// A dense table in any memory order.
struct Table {
    const double* data;
    std::size_t rows, columns;
    std::ptrdiff_t down, across;  // from a row to the next, and from a column to the next

    double operator()(std::size_t r, std::size_t j) const {
        return data[static_cast<std::ptrdiff_t>(r) * down + static_cast<std::ptrdiff_t>(j) * across];
    }
};

/// The columns of a table, with the rank of each entry among the distinct values of its column.
class Columns {
public:
    explicit Columns(const Table& X);

    const Table& table() const { return X_; }
    std::size_t distinct(std::size_t j) const { return distinct_[j]; }
    std::span<const int> ranks(std::size_t j) const { return std::span(ranks_).subspan(j * X_.rows, X_.rows); }

private:
    Table X_;
    std::vector<int> ranks_;  // column by column
    std::vector<std::size_t> distinct_;
};

/// A row goes right iff sign (x[feature] - threshold) >= 0; without a feature iff sign > 0.
struct Cut {
    std::optional<std::size_t> feature;
    double threshold;
    double sign;    // 1 or -1
    double missed;  // the weight of the rows that go to the wrong side
};

/// The cut that sends the least weight to the wrong side.
///
/// A cut without a feature sends every row to one side; one with a feature must reduce the missed weight by more than ``lam``.
/// Ties go to the first feature and the lowest threshold.
Cut best_cut(const Columns& columns, const Sample& sample, double lam);

/// Replace a split of at most one column by the best cut if that is better. Returns whether it did.
bool improve_cut(const Columns& columns, const Sample& sample, double alpha, Split& split);

/// The column of the largest weight of a split.
std::size_t main_column(Constants w);

}  // namespace counterleaf::learn
