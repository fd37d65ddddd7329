#include "bound/emptiness.hpp"

#include <cmath>

#include "bound/change_sum.hpp"

namespace counterleaf {
namespace {

/// A price with its rounding error; a sum of two terms is exact.
struct Price {
    double total = 0.0, size = 0.0;
    double tail = 0.0;  // the rounding errors of the products
    int terms = 0;

    void add(double a, double b) {
        const double product = a * b;
        tail += lost_in(a, b, product);
        total += product;
        size += std::fabs(product);
        ++terms;
    }
    bool is_zero() const { return size == 0.0 || (terms == 2 && total == 0.0 && tail == 0.0 && size > 1e-250); }
    double error(std::size_t rows) const { return is_zero() ? 0.0 : static_cast<double>(rows + 2) * ROUND * size; }
};

/// The maximum of price times change, and the size of its terms; infinite without a bound.
Sum reach(double price, double error, double low, double high) {
    const auto end = [&](double at) {
        if (!std::isinf(at)) return price * at + error * std::fabs(at);
        return (at > 0.0 ? price + error > 0.0 : price - error < 0.0) ? INF : price == 0.0 && error == 0.0 ? 0.0 : -INF;
    };
    const double least = std::isinf(low) ? 0.0 : std::fabs(low), most = std::isinf(high) ? 0.0 : std::fabs(high);
    return {std::max(end(low), end(high)), (std::fabs(price) + error) * std::max(least, most)};
}

/// The power of two by which one row is a multiple of another, or 0 if there is none.
double factor(const Terms& one, const Terms& other) {
    if (one.size() != other.size() || one.size() == 0 || other.weights[0] == 0.0) return 0.0;
    const double by = one.weights[0] / other.weights[0];
    int exponent = 0;
    if (std::fabs(std::frexp(by, &exponent)) != 0.5) return 0.0;
    for (std::size_t k = 0; k < one.size(); ++k)
        if (one.columns[k] != other.columns[k] || one.weights[k] != by * other.weights[k]) return 0.0;
    return one.bias == by * other.bias ? by : 0.0;
}

}  // namespace

bool is_empty(const Question& question, const Path& path, const Box& box, Constants at_source, Constants lam,
              Scratch& scratch) {
    const Scratch::Frame frame(scratch);
    const Features& f = question.features;
    const std::span<Price> price = scratch.values<Price>(f.width());
    std::ranges::fill(price, Price{});
    double gap = 0.0, size = 0.0;
    for (std::size_t t = 0; t < path.size(); ++t) {
        if (lam[t] == 0.0) continue;
        if (!(lam[t] > 0.0) && t >= question.limits.equal) return false;
        const Terms terms = question.row(path.row[t]);
        const double offset = question.offset(path.row[t]), wide = question.wide_tolerance(path.row[t]);
        gap += lam[t] * (offset - path.sign[t] * at_source[t]) - std::fabs(lam[t]) * wide;
        gap -= std::fabs(lam[t]) * terms.exact_to(terms.size_at(f.source));
        size += std::fabs(lam[t]) * (offset + std::fabs(at_source[t]) + wide);
    }
    each_price_term(question, path, lam, [&](int d, double a, double b) { price[d].add(a, b); });
    const std::size_t rows = path.size();
    ChangeSum worth_sum(question, box, false);
    const auto subtract = [&](std::size_t v, const Sum& most) { worth_sum.add(v, -most.total), size += most.size; };
    for (std::size_t d = 0; d < f.width(); ++d) {
        if (!question.layout.is_number(d) || price[d].is_zero()) continue;
        subtract(d, reach(price[d].total, price[d].error(rows), true_lower(question, box, d) - f.source[d],
                          true_upper(question, box, d) - f.source[d]));
    }
    for (std::size_t g = 0; g < question.layout.groups(); ++g) {
        const Price& stay = price[question.source_choice[g]];
        Sum most{-INF, 0.0};
        for (int v = question.layout.first[g]; v < question.layout.last[g]; ++v) {
            if (!(box.upper(v) > 0.0)) continue;
            const double off = price[v].error(rows) + stay.error(rows);
            most.total = std::max(most.total, v == question.source_choice[g] ? 0.0 : price[v].total - stay.total + off);
            most.size = std::max(most.size, std::fabs(price[v].total) + std::fabs(stay.total) + off);
        }
        subtract(question.source_choice[g], most);
    }
    return gap + worth_sum.total() > static_cast<double>(f.width() + rows + 8) * ROUND * size;
}

bool are_opposed(const Question& question, const Path& path, Numbers lam) {
    const double open = question.tree.right_closed ? -1.0 : 1.0;
    for (std::size_t t = question.user_rows(); t < path.size(); ++t)
        for (std::size_t s = question.user_rows(); s < t; ++s) {
            if (path.sign[t] != open && path.sign[s] != open) continue;
            if (question.offset(path.row[t]) > 0.0 || question.offset(path.row[s]) > 0.0) continue;
            const double by = factor(question.row(path.row[t]), question.row(path.row[s])) * path.sign[t] * path.sign[s];
            if (!(by < 0.0)) continue;
            std::ranges::fill(lam, 0.0);
            lam[t] = 1.0, lam[s] = -by;
            return true;
        }
    return false;
}

}  // namespace counterleaf
