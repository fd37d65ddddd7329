#include "realise.hpp"

#include <cmath>

#include "lattice.hpp"

namespace counterleaf {

void place(const Question& question, Constants change, const Box& box, bool coarse, Numbers x) {
    const Features& f = question.features;
    const Layout& layout = question.layout;
    for (std::size_t d = 0; d < x.size(); ++d) {
        const double origin = f.source[d], low = box.lower(d), high = box.upper(d), by = change[d];
        double to = origin + by;
        if (by == 0.0)
            to = origin;
        else if (by == low - origin)
            to = low;
        else if (by == high - origin)
            to = high;
        else if (coarse)
            to = static_cast<double>(static_cast<float>(to));
        if (const Step& step = layout.step[d]; !layout.plain && !step.is_free()) {
            const double under = step.below(origin, to), over = step.above(origin, to);
            to = to - under <= over - to ? under : over;
        }
        x[d] = std::min(std::max(to, low), high);
    }
    for (std::size_t g = 0; g < layout.groups(); ++g) {
        int best = layout.first[g];
        for (int v = layout.first[g]; v < layout.last[g]; ++v)
            if (f.source[v] + change[v] > f.source[best] + change[best]) best = v;
        for (int v = layout.first[g]; v < layout.last[g]; ++v) x[v] = v == best ? 1.0 : 0.0;
    }
}

/// What rounding can do to a split's sum, through the sum itself and through x = source + change; and, where all of that is
/// zero, a change too small to matter in the units of the cost.
static double rounding(const Question& question, Constants x, const Terms& terms) {
    const Features& f = question.features;
    double size = std::fabs(terms.bias), unit = 0.0;
    for (std::size_t k = 0; k < terms.size(); ++k) {
        const int d = terms.columns[k];
        size += std::fabs(terms.weights[k]) * (std::fabs(x[d]) + std::fabs(f.source[d]));
        unit += std::fabs(terms.weights[k]) / f.scale[d];
    }
    const double share = question.tree.narrow ? 6e-8 : 1.2e-16 * static_cast<double>(terms.size() + 2);
    return share * size + 1e-16 * unit;
}

bool is_routed(const Question& question, Constants x, const Path& path, Numbers slack) {
    const Tree& tree = question.tree;
    bool through = true;
    for (std::size_t t = question.users(); t < path.size(); ++t) {
        const Terms terms = question.row(path.row[t]);
        double score = terms.at(x, tree.narrow);
        const bool right = tree.goes_right(score);
        if (tree.narrow) score = terms.at(x, false);
        double least = question.margin;
        if (question.guard > 0.0) {
            double size = std::fabs(terms.bias);
            for (std::size_t k = 0; k < terms.size(); ++k) size += std::fabs(terms.weights[k] * x[terms.columns[k]]);
            least = std::max(least, question.guard * size);
        }
        if (right == (path.sign[t] > 0.0) && (least == 0.0 || score * path.sign[t] >= least)) continue;
        through = false;
        slack[t] = std::max(2.0 * slack[t], 2.0 * rounding(question, x, terms));
    }
    return through;
}

bool obeys(const Question& question, Constants x) {
    for (std::size_t t = 0; t < question.users(); ++t) {
        const Terms terms = question.limits.rows[t];
        const double value = terms.exactly_at(x), miss = t < question.limits.equal ? std::fabs(value) : -value;
        if (miss <= 0.0) continue;
        double size = std::fabs(terms.bias);
        for (std::size_t k = 0; k < terms.size(); ++k) size += std::fabs(terms.weights[k] * x[terms.columns[k]]);
        if (!(miss <= std::max(1e-9 * size, wide_of(question, t)))) return false;
    }
    return true;
}

double cost_of(const Question& question, Constants x) {
    const Features& f = question.features;
    double alone = 0.0, together = 0.0;
    for (std::size_t d = 0; d < x.size(); ++d) {
        const double change = x[d] - f.source[d];
        if (change != 0.0) alone += f.phi(d)(change);
        if (question.coupling == nullptr) continue;
        const Sparse& Q = question.coupling->matrix;
        for (int k = Q.start[d]; k < Q.start[d + 1]; ++k) {
            const int e = Q.columns[k];
            together += Q.values[k] * change * (x[e] - f.source[e]);
        }
    }
    return alone + std::max(together, 0.0);  // negative by rounding only
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
