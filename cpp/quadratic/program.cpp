#include "quadratic/program.hpp"

#include "base/rounding.hpp"

namespace counterleaf {
namespace {

constexpr double LOST = 1e-13;   // relative to the terms of a bound: more than its rounding error
constexpr double NOISE = 1e-13;  // relative to the terms of a price: a smaller difference from a slope counts as none

/// Set a price to the slope beyond which an unbounded feature would move away, if it exceeds the slope by rounding only. Near
/// the optimum y this changes the bound by at most the change times y.
double clamp_to_slope(double price, double size, const Phi& phi, double lower, double upper) {
    const double noise = NOISE * (size + std::fabs(phi.slope_up) + std::fabs(phi.slope_down));
    if (phi.curve_up == 0.0 && upper == INF && phi.slope_up < price && price <= phi.slope_up + noise) return phi.slope_up;
    if (phi.curve_down == 0.0 && lower == -INF && phi.slope_down - noise <= price && price < phi.slope_down)
        return phi.slope_down;
    return price;
}

}  // namespace

void multiply(const CompressedRows& P, Constants y, const Product& out) {
    for (std::size_t j = 0; j < y.size(); ++j) {
        const auto [total, size] = P.dot(j, y);
        out.value[j] = total, out.size[j] = size;
    }
}

double prove(const QuadraticProgram& program, const QuadraticProof& proof, Scratch& scratch) {
    const Scratch::Frame frame(scratch);
    const std::size_t m = program.m(), n = program.n();
    const std::span<BallSum> price = scratch.values<BallSum>(n);
    std::ranges::fill(price, BallSum{});
    const auto [lam, y] = proof;
    BallSum total;
    double lost = 0.0;
    for (std::size_t t = 0; t < m; ++t) {
        if (t >= program.equal) lam[t] = std::max(lam[t], 0.0);
        if (lam[t] == 0.0) continue;
        total.add(lam[t], program.r[t]);
        const auto [columns, values] = program.rows[t];
        for (std::size_t k = 0; k < columns.size(); ++k) price[static_cast<std::size_t>(columns[k])].add(lam[t], values[k]);
    }
    for (std::size_t j = 0; j < n; ++j) {
        BallSum slope;
        const auto [columns, values] = program.P[j];
        for (std::size_t k = 0; k < columns.size(); ++k) slope.add(values[k], y[static_cast<std::size_t>(columns[k])]);
        slope.add(-program.tangent_curve[j], y[j]);
        const Ball along = slope.ball(static_cast<double>(columns.size()) + 2.0);
        total.add(-y[j], along.value);
        price[j].add(-2.0, along.value);
        const Ball at = price[j].ball(static_cast<double>(m) + 3.0);
        lost += std::fabs(y[j]) * along.error;
        Phi phi = program.phi(j);
        phi.curve_up += program.tangent_curve[j], phi.curve_down += program.tangent_curve[j];
        const double lower = program.true_lower(j), upper = program.true_upper(j), error = at.error + 2.0 * along.error;
        double least = INF;
        for (const double here : {at.value - error, at.value + error}) {
            const double d = phi.respond(clamp_to_slope(here, price[j].size, phi, lower, upper), lower, upper);
            if (std::isinf(d)) return -INF;
            least = std::min(least, phi(d) - here * d);
        }
        total.add(1.0, least);
    }
    const Ball found = total.ball(static_cast<double>(m + 2 * n));
    return found.value - found.error - lost - 8.0 * ROUND * total.size;
}

double prove(const QuadraticProgram& program, const QuadraticProof& proof, const Product& Py, Scratch& scratch) {
    const Scratch::Frame frame(scratch);
    const std::size_t m = program.m(), n = program.n();
    const Numbers price = scratch.numbers(n), size = scratch.numbers(n);
    const auto [lam, y] = proof;
    double total = 0.0, error = 0.0;
    for (std::size_t j = 0; j < n; ++j) {
        const double diagonal = program.tangent_curve[j] * y[j], slope = Py.value[j] - diagonal,
                     sizes = Py.size[j] + std::fabs(diagonal);
        total -= slope * y[j];
        error += sizes * std::fabs(y[j]);
        price[j] = -2.0 * slope, size[j] = 2.0 * sizes;
    }
    for (std::size_t t = 0; t < m; ++t) {
        if (t >= program.equal) lam[t] = std::max(lam[t], 0.0);
        if (lam[t] == 0.0) continue;
        total += lam[t] * program.r[t];
        error += std::fabs(lam[t] * program.r[t]);
        program.rows.add(t, lam[t], price, size);
    }
    for (std::size_t j = 0; j < n; ++j) {
        Phi phi = program.phi(j);
        phi.curve_up += program.tangent_curve[j], phi.curve_down += program.tangent_curve[j];
        const double lower = program.true_lower(j), upper = program.true_upper(j);
        const double at = clamp_to_slope(price[j], size[j], phi, lower, upper), d = phi.respond(at, lower, upper);
        if (std::isinf(d)) return -INF;
        const double cost = phi(d);
        total += cost - at * d - std::fabs(at - price[j]) * std::fabs(y[j]);
        error += std::fabs(cost) + (size[j] + std::fabs(phi.slope_up) + std::fabs(phi.slope_down)) * std::fabs(d);
    }
    if (!(LOST * error <= 1e-5 * std::fabs(total))) return -INF;
    return total - 0.1 * LOST * error;
}

Sum cost_and_size(const QuadraticProgram& program, Constants z) {
    BallSum sum;
    for (std::size_t j = 0; j < z.size(); ++j) {
        const auto [columns, values] = program.P[j];
        for (std::size_t k = 0; k < columns.size(); ++k) sum.add(values[k] * z[static_cast<std::size_t>(columns[k])], z[j]);
        sum.add(1.0, program.phi(j)(z[j]));
    }
    return {sum.sum.value(), sum.size};
}

double cost_of(const QuadraticProgram& program, Constants z) { return cost_and_size(program, z).total; }

}  // namespace counterleaf
