#include "ensemble/forest.hpp"

#include <algorithm>

namespace counterleaf::ensemble {
namespace {

template <class Real>
void add_up(const Forest& forest, std::span<const int> leaves, std::vector<double>& scores) {
    std::vector<Real> sum(forest.start.size(), Real{0});
    const auto begin = [&] {
        for (std::size_t k = 0; k < sum.size(); ++k) sum[k] += static_cast<Real>(forest.start[k]);
    };
    if (!forest.late) begin();
    for (std::size_t t = 0; t < leaves.size(); ++t) {
        const double* held = &forest.value[static_cast<std::size_t>(leaves[t]) * forest.width];
        Real* to = &sum[forest.output[t]];
        for (std::size_t k = 0; k < forest.width; ++k) to[k] += static_cast<Real>(held[k]);
    }
    if (forest.late) begin();
    const bool divides = forest.divisor != 1.0;
    const Real by = static_cast<Real>(forest.divisor);
    for (std::size_t k = 0; k < sum.size(); ++k) scores[k] = static_cast<double>(divides ? sum[k] / by : sum[k]);
}

}  // namespace

void Forest::add(std::span<const int> leaves, std::vector<double>& scores) const {
    scores.resize(start.size());
    narrow ? add_up<float>(*this, leaves, scores) : add_up<double>(*this, leaves, scores);
}

/// Whether a row reaches the target if scores may be off by ``slack``.
bool Target::clears(const Forest& forest, Cells s, double slack) const {
    std::vector<int> leaves(forest.root.size());
    for (int t = 0; t < forest.trees(); ++t) {
        leaves[t] = forest.leaf(t, s);
        if (is_closed(leaves[t])) return false;
    }
    std::vector<double> scores;
    forest.add(leaves, scores);
    if (winner >= 0) {
        for (int k = 0; k < static_cast<int>(scores.size()); ++k) {
            if (k == winner) continue;
            if (slack > 0.0) {
                if (!(scores[winner] - scores[k] >= margin - 2.0 * slack)) return false;
                continue;
            }
            if (k < winner ? !(scores[winner] > scores[k]) : !(scores[winner] >= scores[k])) return false;
            if (margin > 0.0 && !(scores[winner] - scores[k] >= margin)) return false;
        }
    }
    return std::ranges::all_of(intervals, [&](const ScoreRange& one) {
        return one.low - slack <= scores[one.output] && scores[one.output] <= one.high + slack;
    });
}

}  // namespace counterleaf::ensemble
