#include "rows/row_cost.hpp"

#include <cmath>

namespace counterleaf {

Sum coupled_sum(const Question& question, Constants x) {
    const Features& f = question.features;
    const Sparse& Q = question.coupling->matrix;
    Sum together{0.0, 0.0};
    for (std::size_t d = 0; d < x.size(); ++d) {
        const double change = x[d] - f.source[d];
        for (int k = Q.start[d]; k < Q.start[d + 1]; ++k) {
            const int e = Q.columns[k];
            const double term = Q.values[k] * change * (x[e] - f.source[e]);
            together.total += term, together.size += std::fabs(term);
        }
    }
    together.total = std::max(together.total, 0.0);  // negative only because of rounding
    return together;
}

double charges_of(const Question& question, Constants x) {
    double total = 0.0;
    for (std::size_t d = 0, last = x.size(); d < x.size() && !question.charges.empty(); ++d) {
        const auto feature = static_cast<std::size_t>(question.layout.feature[d]);
        if (x[d] != question.features.source[d] && feature != last) total += question.charges[feature], last = feature;
    }
    return total;
}

double cost_of(const Question& question, Constants x) {
    const Features& f = question.features;
    double alone = 0.0;
    for (std::size_t d = 0; d < x.size(); ++d) {
        const double change = x[d] - f.source[d];
        if (change != 0.0) alone += f.phi(d)(change);
    }
    alone += charges_of(question, x);
    return question.coupling == nullptr ? alone : alone + coupled_sum(question, x).total;
}

double length(const Question& question, Constants x) {
    const Features& f = question.features;
    double total = 0.0;
    for (std::size_t d = 0; d < x.size(); ++d) {
        const double change = (x[d] - f.source[d]) * f.scale[d];
        total += change * change;
    }
    return total;
}

}  // namespace counterleaf
