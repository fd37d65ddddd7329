#include "learn/rows.hpp"

namespace counterleaf::learn {

double misses(const Rows& rows, const Sample& sample, const Split& split) {
    double total = 0.0;
    for (std::size_t i = 0; i < sample.size(); ++i)
        if (split.sends_right(rows[sample.rows[i]]) != (sample.side[i] > 0.0)) total += sample.weight[i];
    return total;
}

void project(const Rows& rows, std::span<const int> chosen, Constants w, Numbers out) {
    for (std::size_t i = 0; i < chosen.size(); ++i) {
        const Entries x = rows[chosen[i]];
        double total = 0.0;
        for (std::size_t k = 0; k < x.size(); ++k) total += x.values[k] * w[x.columns[k]];
        out[i] = total;
    }
}

void sum_groups(const Rows& rows, std::span<const int> chosen, std::span<const int> group, Constants weight, const Grid& out) {
    std::fill_n(out.data, out.rows * out.columns, 0.0);
    for (std::size_t i = 0; i < chosen.size(); ++i) {
        const Entries x = rows[chosen[i]];
        double* sums = out[group[i]];
        for (std::size_t k = 0; k < x.size(); ++k) sums[x.columns[k]] += x.values[k] * weight[i];
    }
}

}  // namespace counterleaf::learn
