#include "separable/group_response.hpp"

#include <cmath>

namespace counterleaf {

GroupResponse::GroupResponse(const Program& program, Constants price, Constants price_step, Scratch& scratch)
    : p(program), c(program.curves), price(price), price_step(price_step) {
    if (p.groups.size() == 0) return;
    z = scratch.numbers(p.A.columns);
    near = scratch.values<Entry>(p.A.columns);
    home = scratch.places(p.groups.size());
    for (std::size_t g = 0; g < p.groups.size(); ++g) {
        home[g] = -1;
        for (int k = p.groups.start[g]; k < p.groups.start[g + 1]; ++k)
            if (p.groups.home[k] > 0.0) home[g] = k;
    }
}

/// Project (price + t price_step - slope) / s on the unit simplex, into z, and find its support; returns the threshold.
///
/// Only entries within 1 of the largest can be positive. Of these, the entries below the mean excess are removed until none is
/// left.
double GroupResponse::project(std::size_t g, double t) const {
    const int begin = p.groups.start[g], end = p.groups.start[g + 1];
    const double per = 1.0 / p.groups.scale[g];
    double top = -INF, sum = 0.0;
    if (t == 0.0)
        for (int k = begin; k < end; ++k) z[k] = (price[k] - c.slope_up[k]) * per;
    else
        for (int k = begin; k < end; ++k) z[k] = (price[k] + t * price_step[k] - c.slope_up[k]) * per;
    for (int k = begin; k < end; ++k) top = std::max(top, z[k]);
    std::size_t left = 0;
    for (int k = begin; k < end; ++k) {
        const double excess = z[k] - top;  // avoids rounding errors of large prices
        z[k] = 0.0;
        if (!(excess > -1.0)) continue;
        near[left++] = {k, excess};
        sum += excess;
    }
    double level = (sum - 1.0) / static_cast<double>(left);
    while (left > 1) {
        std::size_t remaining = 0;
        sum = 0.0;
        for (std::size_t i = 0; i < left; ++i)
            if (near[i].excess > level) near[remaining++] = near[i], sum += near[i].excess;
        if (remaining == left) break;
        left = remaining;
        level = (sum - 1.0) / static_cast<double>(left);
    }
    support = near.first(left);
    for (const Entry& one : support) z[one.column] = std::max(one.excess - level, 0.0);
    return level + top;
}

double GroupResponse::respond(std::size_t g, Numbers delta, Numbers weight, Grid centred) const {
    const int begin = p.groups.start[g], end = p.groups.start[g + 1];
    const double s = p.groups.scale[g];
    project(g, 0.0);
    double value = 0.0;
    for (int k = begin; k < end; ++k) {
        delta[k] = (z[k] - p.groups.home[k]) * s;
        weight[k] = 0.0;
    }
    for (const auto& [k, excess] : support) value += s * z[k] * c.slope_up[k] + 0.5 * s * s * z[k] * z[k];
    if (support.size() < 2) return value;
    for (const auto& [k, excess] : support) weight[k] = 1.0;
    for (std::size_t t = 0; t < p.m(); ++t) {
        double mean = 0.0;
        for (const auto& [k, excess] : support) mean += p.A[t][k];
        mean /= static_cast<double>(support.size());
        for (const auto& [k, excess] : support) centred[t][k] = p.A[t][k] - mean;
    }
    return value;
}

double GroupResponse::next_break(std::size_t g, double t) const {
    const int begin = p.groups.start[g], end = p.groups.start[g + 1];
    const double level = project(g, t);
    double mean = 0.0, first = INF;
    for (const auto& [k, excess] : support) mean += price_step[k];
    mean /= static_cast<double>(support.size());
    for (int k = begin; k < end; ++k) {
        const double gains = price_step[k] - mean;
        if (!((z[k] == 0.0 && gains > 0.0) || (z[k] > 0.0 && gains < 0.0))) continue;
        const double ahead = level * p.groups.scale[g] - (price[k] + t * price_step[k] - c.slope_up[k]);
        const double at = t + ahead / gains;
        if (t < at && at < first) first = at;
    }
    return first;
}

void GroupResponse::add_slope(std::size_t g, double t, Slope& out) const {
    const int begin = p.groups.start[g], end = p.groups.start[g + 1];
    if (std::all_of(price_step.begin() + begin, price_step.begin() + end, [](double a) { return a == 0.0; })) return;
    project(g, t);
    double first = 0.0, second = 0.0;
    for (const auto& [k, excess] : support) {
        first += price_step[k], second += price_step[k] * price_step[k];
        out.total += price_step[k] * z[k] * p.groups.scale[g];
        out.size += std::fabs(price_step[k] * z[k]) * p.groups.scale[g];
    }
    if (const int k = home[g]; k >= 0) {
        out.total -= price_step[k] * p.groups.scale[g];
        out.size += std::fabs(price_step[k]) * p.groups.scale[g];
    }
    const auto size = static_cast<double>(support.size());
    if (size > 1.0) out.bend += std::max(second - first * first / size, 0.0);
}

}  // namespace counterleaf
