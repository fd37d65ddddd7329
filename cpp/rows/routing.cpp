#include "rows/routing.hpp"

#include <cmath>

namespace counterleaf {

/// The rounding error of a split's sum, including that of x = source + change, plus a change that is negligible in units of the
/// cost if everything else is zero.
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

/// The lowest digit of a number, as a power of two; infinite for 0.
static double last_digit(double x) {
    if (x == 0.0) return INF;
    int exponent = 0;
    const auto digits = static_cast<std::int64_t>(std::ldexp(std::frexp(x, &exponent), 53));
    return std::ldexp(static_cast<double>(digits & -digits), exponent - 53);
}

/// Whether a sum of terms is exact and therefore the same in any order: no partial sum needs more than 53 bits.
static bool is_exact(const Terms& terms, Constants x, bool narrow, double size) {
    double last = last_digit(terms.bias);
    for (std::size_t k = 0; k < terms.size(); ++k) {
        const double value = x[terms.columns[k]], seen = narrow ? static_cast<double>(static_cast<float>(value)) : value;
        const double product = terms.weights[k] * seen;
        if (std::fma(terms.weights[k], seen, -product) != 0.0) return false;
        last = std::min(last, last_digit(product));
    }
    return size <= 0x1p53 * last;
}

Routed routed_at(const Question& question, Constants x, int row, double sign, const Sum& seen) {
    const Tree& tree = question.tree;
    const Terms terms = question.row(row);
    const double margin = question.offset(row);
    if (tree.goes_right(seen.total) != (sign > 0.0)) return Routed::Elsewhere;
    const double guard = static_cast<double>(terms.size() + 2) * ROUND;
    const Sum whole = tree.narrow ? terms.sum(x, false) : seen;
    if (question.guard > 0.0 && sign * whole.total < question.guard * whole.size) return Routed::Elsewhere;
    const bool clear = sign * seen.total >= guard * seen.size || is_exact(terms, x, tree.narrow, seen.size);
    if (margin == 0.0) return clear ? Routed::Safely : Routed::Barely;
    if (clear && sign * whole.total >= margin + guard * whole.size) return Routed::Safely;
    return sign * terms.exactly_at(x) >= margin ? Routed::Barely : Routed::Elsewhere;
}

Routed routed(const Question& question, Constants x, const Path& path, Numbers slack) {
    Routed all = Routed::Safely;
    for (std::size_t t = question.user_rows(); t < path.size(); ++t) {
        const Terms terms = question.row(path.row[t]);
        const Routed here = routed_at(question, x, path.row[t], path.sign[t], terms.sum(x, question.tree.narrow));
        all = std::min(all, here);
        const double off = std::max(2.0 * rounding(question, x, terms), 1.5 * question.guard * terms.size_at(x));
        if (here != Routed::Safely) slack[t] = std::max(2.0 * slack[t], off);
    }
    return all;
}

bool is_routed(const Question& question, Constants x, const Path& path) {
    for (std::size_t t = question.user_rows(); t < path.size(); ++t)
        if (const Terms terms = question.row(path.row[t]);
            routed_at(question, x, path.row[t], path.sign[t], terms.sum(x, question.tree.narrow)) == Routed::Elsewhere)
            return false;
    return true;
}

bool is_close(const Question& question, Constants x, const Path& path) {
    for (std::size_t t = question.user_rows(); t < path.size(); ++t) {
        const Terms terms = question.row(path.row[t]);
        if (question.offset(path.row[t]) - path.sign[t] * terms.exactly_at(x) > 4.0 * rounding(question, x, terms))
            return false;
    }
    return true;
}

}  // namespace counterleaf
