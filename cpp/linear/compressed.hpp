// A view of a matrix by compressed rows (CSR).
#pragma once

#include <cmath>

#include "base/scratch.hpp"

namespace counterleaf {

struct CompressedRows {
    std::span<const int> start;  // one entry more than rows
    std::span<const int> column;
    Constants value;

    std::size_t size() const { return start.size() - 1; }

    struct Row {
        std::span<const int> column;
        Constants value;
    };

    Row operator[](std::size_t i) const {
        const auto at = static_cast<std::size_t>(start[i]), count = static_cast<std::size_t>(start[i + 1] - start[i]);
        return {column.subspan(at, count), value.subspan(at, count)};
    }

    /// Row i times x, and the size of its terms; four partial sums are added in one fixed order.
    Sum dot(std::size_t i, Constants x) const {
        const Row row = (*this)[i];
        const std::size_t count = row.column.size(), whole = count / 4 * 4;
        double total[4] = {}, size[4] = {};
        const auto take = [&](std::size_t k, std::size_t lane) {
            const double term = row.value[k] * x[static_cast<std::size_t>(row.column[k])];
            total[lane] += term;
            size[lane] += std::fabs(term);
        };
        for (std::size_t k = 0; k < whole; k += 4)
            for (std::size_t lane = 0; lane < 4; ++lane) take(k + lane, lane);
        for (std::size_t k = whole; k < count; ++k) take(k, k - whole);
        return {(total[0] + total[1]) + (total[2] + total[3]), (size[0] + size[1]) + (size[2] + size[3])};
    }

    /// to += by (row i)'; adds the sizes of these terms to ``sizes``.
    void add(std::size_t i, double by, Numbers to, Numbers sizes) const {
        const Row row = (*this)[i];
        for (std::size_t k = 0; k < row.column.size(); ++k) {
            const auto j = static_cast<std::size_t>(row.column[k]);
            const double term = row.value[k] * by;
            to[j] += term;
            sizes[j] += std::fabs(term);
        }
    }
};

}  // namespace counterleaf
