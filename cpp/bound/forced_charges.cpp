#include "bound/forced_charges.hpp"

#include <cmath>
#include <numeric>

namespace counterleaf {
namespace {

/// What the features can add to a row, compared with the source.
struct Contributions {
    std::vector<double> gains, charges;  // of each feature that may stay and can add something
    double moving = 0.0;                 // of all features that change anyway
    double size = 0.0;                   // of all terms
};

/// Whether a feature changes in every row of the box.
std::vector<char> moving_features(const Question& question, const Box& box) {
    std::vector<char> out = box.quota.counted;
    for (std::size_t v = 0; v < question.features.width(); ++v)
        if (!box.holds(v, question.features.source[v])) out[question.layout.feature[v]] = true;
    return out;
}

Contributions contributions(const Question& question, const Box& box, const Terms& terms, double sign,
                            const std::vector<char>& moving) {
    const Constants source = question.features.source;
    Contributions out{.gains = {}, .charges = {}, .moving = 0.0, .size = std::fabs(terms.bias)};
    for (std::size_t k = 0; k < terms.size();) {
        const int feature = question.layout.feature[terms.columns[k]];
        double gain = 0.0;  // the values of a group are counted one by one, which can only be too much
        for (; k < terms.size() && question.layout.feature[terms.columns[k]] == feature; ++k) {
            const int d = terms.columns[k];
            const double w = sign * terms.weights[k];
            const double end = w > 0.0 ? true_upper(question, box, d) : true_lower(question, box, d);
            out.size += std::fabs(w * source[d]);
            if (w == 0.0) continue;
            gain += std::isinf(end) ? INF : w * (end - source[d]);
            if (!std::isinf(end)) out.size += std::fabs(w) * (std::fabs(end) + std::fabs(source[d]));
        }
        if (moving[feature])
            out.moving += gain;
        else if (gain > 0.0)
            out.gains.push_back(gain), out.charges.push_back(question.charges[feature]);
    }
    return out;
}

/// The charges that a row forces which misses its offset by ``miss`` at the source. If all features together do not reach it,
/// the box has no row and any bound holds; ``all`` is then as high as that of every larger box.
double forced_by(Contributions parts, double miss, double all) {
    const double left = miss - parts.moving;
    if (!(left > 0.0)) return 0.0;
    std::ranges::sort(parts.gains, std::greater<>());
    std::size_t k = 0;
    double reached = 0.0;
    while (k < parts.gains.size() && reached < left) reached += parts.gains[k++];
    if (reached < left) return all;
    std::ranges::sort(parts.charges);
    return std::accumulate(parts.charges.begin(), parts.charges.begin() + static_cast<std::ptrdiff_t>(k), 0.0);
}

}  // namespace

double forced_charges(const Question& question, const Path& path, const Box& box) {
    if (question.charges.empty()) return 0.0;
    const std::vector<char> moving = moving_features(question, box);
    const double all = std::accumulate(question.charges.begin(), question.charges.end(), 0.0);
    double most = 0.0;
    for (std::size_t t = 0; t < path.size(); ++t)
        for (double side : {1.0, -1.0}) {
            if (side < 0.0 && t >= question.limits.equal) continue;
            const Terms terms = question.row(path.row[t]);
            const double sign = side * path.sign[t];
            const Contributions parts = contributions(question, box, terms, sign, moving);
            const double rounding = 4.0 * (static_cast<double>(terms.size()) + 4.0) * ROUND * parts.size;
            const double offset = question.offset(path.row[t]) - question.wide_tolerance(path.row[t]);
            most = std::max(most, forced_by(parts, offset - sign * terms.exactly_at(question.features.source) - rounding, all));
        }
    return most * (1.0 - 8.0 * ROUND);
}

}  // namespace counterleaf
