#include "separable/program.hpp"

#include <cmath>

#include "bound/multiplier_scale.hpp"

namespace counterleaf {
namespace {

Sum row_dot(const Program& program, std::size_t t, Constants delta) {
    return loops.dot(program.A[t], delta.data(), program.A.columns);
}

/// Column j of ray' A.
Sum column(const Program& program, Constants ray, std::size_t j) {
    Sum out{0.0, 0.0};
    for (std::size_t t = 0; t < program.m(); ++t) {
        const double term = ray[t] * program.A[t][j];
        out.total += term;
        out.size += std::fabs(term);
    }
    return out;
}

}  // namespace

double violation(const Program& program, Constants delta) {
    const std::size_t m = program.m();
    double most = 0.0, worst = 0.0;
    for (std::size_t t = 0; t < m; ++t) most = std::max(most, std::fabs(program.r[t]) + row_dot(program, t, delta).size);
    for (std::size_t t = 0; t < m; ++t) {
        const auto [total, size] = row_dot(program, t, delta);
        const double miss = program.r[t] - total, off = t < program.equal ? std::fabs(miss) : miss;
        const double share = std::max(std::fabs(program.r[t]) + size, SMALL * most);
        if (off > worst * share) worst = off / share;
    }
    return worst;
}

double farkas_gap(const Program& program, Numbers ray) {
    const std::size_t m = program.m();
    const double largest = largest_of(ray);
    double gap = 0.0, size = 0.0;
    for (std::size_t t = 0; t < m; ++t) {
        if ((t >= program.equal && ray[t] < 0.0) || std::fabs(ray[t]) <= ROUNDING * largest) ray[t] = 0.0;
        gap += ray[t] * program.r[t];
        if (!program.tolerance.empty()) gap -= std::fabs(ray[t]) * program.tolerance[t];
        size += std::fabs(ray[t] * program.r[t]);
    }
    for (std::size_t j = 0; j < program.ungrouped(); ++j) {
        const auto [a, terms] = column(program, ray, j);
        const double reach = a > 0.0 ? program.curves.upper[j] : program.curves.lower[j];
        if (std::isinf(reach)) {
            const double rounding = program.forgiving ? ROUNDING : 4.0 * static_cast<double>(m + 2) * ROUND;
            if (std::fabs(a) <= rounding * terms) continue;  // it may be zero
            return -INF;
        }
        gap -= a * reach;
        size += std::fabs(a * reach);
    }
    const Groups& groups = program.groups;
    for (std::size_t g = 0; g < groups.size(); ++g) {
        double best = -INF, at_home = 0.0, most = 0.0;
        for (int k = groups.start[g]; k < groups.start[g + 1]; ++k) {
            const double a = column(program, ray, k).total;
            best = std::max(best, a);
            at_home += a * groups.home[k];
            most = std::max(most, std::fabs(a));
        }
        gap -= (best - at_home) * groups.scale[g];
        size += most * groups.scale[g];
    }
    return size > 0.0 ? gap / size : 0.0;
}

/// Scale multipliers and prices so that no unbounded flat piece has a price beyond its slope: all by one factor or, where that
/// is impossible, price by price.
static bool hold_back(const Program& program, Numbers lam, Numbers prices, Numbers sizes, double spread) {
    const Curves& c = program.curves;
    const auto share_at = [&](double by) {
        MultiplierScale scale;
        bool fits = true;
        for (std::size_t j = 0; j < program.n; ++j)
            fits = scale.add(program.phi(j), by * prices[j], spread * by * sizes[j], c.lower[j], c.upper[j]) && fits;
        return fits ? scale.factor() : NONE;
    };
    const double share = share_at(1.0);
    if (share == 1.0) return true;
    if (share < 1.0 || share_at(share) == 1.0) {  // larger multipliers may violate other slopes
        for (double& one : lam) one *= share;
        for (double& one : prices) one *= share;
        for (double& one : sizes) one *= share;
        return true;
    }
    for (std::size_t j = 0; j < program.n; ++j) {
        MultiplierScale alone;
        if (alone.add(program.phi(j), prices[j], spread * sizes[j], c.lower[j], c.upper[j]) && alone.factor() == 1.0) continue;
        const double room = ROUNDING * (sizes[j] + std::fabs(c.slope_up[j]) + std::fabs(c.slope_down[j]));
        const double to = std::min(std::max(prices[j], c.slope_down[j]), c.slope_up[j]);
        if (std::fabs(prices[j] - to) <= room) prices[j] = to, sizes[j] = 0.0;
    }
    return false;
}

ProvedBound proved_value(const Program& program, Numbers lam, Scratch& scratch) {
    const Scratch::Frame frame(scratch);
    const std::size_t m = program.m(), wide = program.A.columns;
    const Numbers prices = scratch.numbers(wide), sizes = scratch.numbers(wide);
    const Places used = scratch.places(m);
    const Numbers weights = scratch.numbers(m);
    std::size_t count = 0;
    for (std::size_t t = 0; t < m; ++t)
        if (lam[t] != 0.0) weights[count] = lam[t], used[count++] = static_cast<int>(t);
    loops.blend_some(program.A, used.data(), count, weights.data(), prices.data(), sizes.data());
    const double spread = static_cast<double>(count + 6) * ROUND;
    const bool sure = hold_back(program, lam, prices, sizes, spread);
    auto [total, size] = loops.least(prices.data(), sizes.data(), spread, program.curves, wide);
    double error = 0.0;
    for (std::size_t t = 0; t < m; ++t) {
        if (lam[t] == 0.0) continue;
        total += lam[t] * program.r[t];
        size += std::fabs(lam[t] * program.r[t]);
        if (!program.tolerance.empty()) total -= std::fabs(lam[t]) * program.tolerance[t];
        if (!program.noise.empty()) error += std::fabs(lam[t]) * program.noise[t];
    }
    const std::size_t additions = wide / LANES + m + 16;
    error += static_cast<double>(additions) * ROUND * size;
    const double value = total - error;
    return {value > -INF ? value : -INF, error, sure};
}

double dual_value(const Program& program, Constants lam, Scratch& scratch) {
    const Scratch::Frame frame(scratch);
    const Curves& c = program.curves;
    const Numbers prices = scratch.numbers(program.A.columns), sizes = scratch.numbers(program.A.columns);
    const Places all = scratch.places(program.m());
    double value = 0.0;
    for (std::size_t t = 0; t < program.m(); ++t) value += lam[t] * program.r[t], all[t] = static_cast<int>(t);
    loops.blend_some(program.A, all.data(), program.m(), lam.data(), prices.data(), sizes.data());
    for (std::size_t j = 0; j < program.n; ++j) {
        const double terms = sizes[j];
        double price = prices[j], d = program.phi(j).respond(price, c.lower[j], c.upper[j]);
        if (std::isinf(d)) {  // rounding, which an unbounded feature would turn into an infinite bound
            const double excess = d > 0.0 ? price - c.slope_up[j] : c.slope_down[j] - price;
            if (excess > ROUNDING * (terms + std::fabs(c.slope_up[j]) + std::fabs(c.slope_down[j]))) return -INF;
            d = std::min(std::max(0.0, c.lower[j]), c.upper[j]);
            price = price > c.slope_up[j] ? c.slope_up[j] : c.slope_down[j];
        }
        if (d != 0.0) value += program.phi(j)(d) - price * d;
    }
    return value;
}

}  // namespace counterleaf
