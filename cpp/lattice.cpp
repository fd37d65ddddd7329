#include "lattice.hpp"

#include <cmath>

namespace counterleaf {

double size_of(const Question& question, std::size_t t) {
    const Features& f = question.features;
    const Terms terms = question.limits.rows[t];
    double size = std::fabs(terms.bias);
    for (std::size_t k = 0; k < terms.size(); ++k) {
        const int d = terms.columns[k];
        const double low = std::fabs(f.lower[d]), high = std::fabs(f.upper[d]);
        const bool is_whole = question.layout.group[d] >= 0 || !question.layout.step[d].is_free();
        double at = std::fabs(f.source[d]);
        if (f.lower[d] == f.upper[d])
            at = low;
        else if (is_whole && low < INF && high < INF)
            at = std::max(low, high);
        size += std::fabs(terms.weights[k]) * at;
    }
    return size;
}

}  // namespace counterleaf
