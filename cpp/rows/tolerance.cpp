#include "rows/tolerance.hpp"

#include <cmath>

#include "rows/row_cost.hpp"

namespace counterleaf {
namespace {

constexpr double SHARE = 1e-9;  // relative to the terms of a cost: how much a row may cost above its bound

/// The squared slopes of the cost at x and of a row, over the variables that can move, in units of their cost.
struct Steepness {
    double cost = 0.0, row = 0.0;  // squares
    bool bends = false;            // the cost is curved
};

Steepness steepness_at(const Question& question, const Box& box, Constants x, const Terms& terms) {
    const Features& f = question.features;
    Steepness out;
    for (std::size_t k = 0; k < terms.size(); ++k) {
        const int d = terms.columns[k];
        if (terms.weights[k] == 0.0 || !box.can_move(d)) continue;
        const double change = x[d] - f.source[d], flat = std::max(std::fabs(f.slope_up[d]), std::fabs(f.slope_down[d]));
        double slope = flat, curve = std::max(f.curve_up[d], f.curve_down[d]);
        if (change > 0.0) slope = std::fabs(2.0 * f.curve_up[d] * change + f.slope_up[d]);
        if (change < 0.0) slope = std::fabs(2.0 * f.curve_down[d] * change + f.slope_down[d]);
        if (question.coupling != nullptr) {
            const Sparse& Q = question.coupling->matrix;
            double along = 0.0;
            for (int at = Q.start[d]; at < Q.start[d + 1]; ++at) {
                const int e = Q.columns[at];
                along += 2.0 * Q.values[at] * (x[e] - f.source[e]);
                if (e == d) curve += Q.values[at];
            }
            slope += std::fabs(along);
        }
        const double unit = curve > 0.0 ? std::sqrt(curve) : flat;
        if (unit == 0.0) return {};  // moving it is free
        out.cost += slope / unit * (slope / unit);
        out.row += terms.weights[k] / unit * (terms.weights[k] / unit);
        out.bends = out.bends || curve > 0.0;
    }
    return out;
}

/// The distance of x from the face of a row, the required distance, and the least distance in units of the cost.
struct Way {
    double off, by, least;
};

/// The approximate cost of keeping a row x off a nearby face: the slope of the cost over the slope of the face, plus the square
/// of the distance if the cost is curved; other faces are ignored. 0 for a row that is further away.
double price_of_moving(const Question& question, const Box& box, Constants x, const Terms& terms, const Way& way) {
    if (way.off > 2.0 * way.by && way.least == 0.0) return 0.0;
    const auto [cost, row, bends] = steepness_at(question, box, x, terms);
    const double by = std::max(way.by, way.least * std::sqrt(row));
    if (way.off > 2.0 * by) return 0.0;
    return row > 0.0 ? std::sqrt(cost / row) * by + (bends ? by * by / row : 0.0) : 0.0;
}

}  // namespace

bool is_thin(const Question& question, const Path& path, const Box& box, Constants lam, Constants x) {
    constexpr double FAR = 1e5;
    double most = 0.0;
    for (double one : lam) most = std::max(most, std::fabs(one));
    for (std::size_t t = question.user_rows(); t < path.size(); ++t) {
        if (std::fabs(lam[t]) < most || most == 0.0) continue;
        const auto [cost, row, bends] = steepness_at(question, box, x, question.row(path.row[t]));
        if (most * most * row > FAR * FAR * cost && row > 0.0) return true;
    }
    return false;
}

double allowed(const Question& question, const Path& path, const Box& box, Constants x, double cost) {
    if (path.size() == 0 && question.coupling == nullptr) return 0.0;
    const Features& f = question.features;
    double total = 0.0, size = std::fabs(cost) + charges_of(question, x);
    for (std::size_t d = 0; d < x.size(); ++d)
        if (x[d] != f.source[d]) size += std::fabs(f.phi(d)(x[d] - f.source[d]));
    if (question.coupling != nullptr) {
        const auto n = static_cast<double>(x.size()) + 2.0;
        const Sum together = coupled_sum(question, x);
        total += n * n * 16.0 * ROUND * (size + together.size);
        size += std::fabs(together.total);
    }
    for (std::size_t t = 0; t < path.size(); ++t) {
        const Terms terms = question.row(path.row[t]);
        const double count = static_cast<double>(terms.size()) + 2.0;
        const bool split = t >= question.user_rows(), casts = question.tree.narrow && split;
        const double share = std::max(16.0 * count * ROUND, split ? 2.0 * question.guard : 0.0) + (casts ? 0x1p-22 : 0.0);
        const double room = share * (terms.size_at(x) + question.offset(path.row[t]));
        const double off = path.sign[t] * terms.exactly_at(x) - question.offset(path.row[t]);
        const bool open = question.offset(path.row[t]) == 0.0 && (path.sign[t] > 0.0) != question.tree.right_closed && split;
        // at the origin, no step is small compared with the number itself, so it is measured by its cost
        const double least = open && terms.size_at(f.source) == 0.0 ? 16.0 * count * ROUND : 0.0;
        total += price_of_moving(question, box, x, terms, {.off = off, .by = room, .least = least});
    }
    return SHARE * size + 0.99 * total;  // the check adds in another order
}

}  // namespace counterleaf
