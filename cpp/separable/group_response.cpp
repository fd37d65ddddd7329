#include "separable/group_response.hpp"

#include <cmath>

namespace counterleaf {

Choices::Choices(const Program& program, Constants price, Constants turn, Scratch& scratch)
    : p(program), c(program.curves), price(price), turn(turn) {
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

/// z = the projection of (price + t turn - slope) / s on the unit simplex, and its support; returns its threshold.
///
/// Only entries within 1 of the largest can be positive; of those, the ones below the mean excess drop out until none
/// does.
double Choices::project(std::size_t g, double t) const {
    const int begin = p.groups.start[g], end = p.groups.start[g + 1];
    const double per = 1.0 / p.groups.scale[g];
    double top = -INF, sum = 0.0;
    if (t == 0.0)
        for (int k = begin; k < end; ++k) z[k] = (price[k] - c.slope_up[k]) * per;
    else
        for (int k = begin; k < end; ++k) z[k] = (price[k] + t * turn[k] - c.slope_up[k]) * per;
    for (int k = begin; k < end; ++k) top = std::max(top, z[k]);
    std::size_t left = 0;
    for (int k = begin; k < end; ++k) {
        const double excess = z[k] - top;  // so that large prices leave no rounding behind, and the threshold is below 0
        z[k] = 0.0;
        if (!(excess > -1.0)) continue;
        near[left++] = {k, excess};
        sum += excess;
    }
    double level = (sum - 1.0) / static_cast<double>(left);
    while (left > 1) {
        std::size_t kept = 0;
        sum = 0.0;
        for (std::size_t i = 0; i < left; ++i)
            if (near[i].excess > level) near[kept++] = near[i], sum += near[i].excess;
        if (kept == left) break;
        left = kept;
        level = (sum - 1.0) / static_cast<double>(left);
    }
    support = near.first(left);
    for (const Entry& one : support) z[one.column] = std::max(one.excess - level, 0.0);
    return level + top;
}

double Choices::respond(std::size_t g, Numbers delta, Numbers weight, Grid centred) const {
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

double Choices::next_break(std::size_t g, double t) const {
    const int begin = p.groups.start[g], end = p.groups.start[g + 1];
    const double level = project(g, t);
    double mean = 0.0, first = INF;
    for (const auto& [k, excess] : support) mean += turn[k];
    mean /= static_cast<double>(support.size());
    for (int k = begin; k < end; ++k) {
        const double gains = turn[k] - mean;
        if (!((z[k] == 0.0 && gains > 0.0) || (z[k] > 0.0 && gains < 0.0))) continue;
        const double ahead = level * p.groups.scale[g] - (price[k] + t * turn[k] - c.slope_up[k]);
        const double at = t + ahead / gains;
        if (t < at && at < first) first = at;
    }
    return first;
}

void Choices::add_slope(std::size_t g, double t, Slope& out) const {
    const int begin = p.groups.start[g], end = p.groups.start[g + 1];
    if (std::all_of(turn.begin() + begin, turn.begin() + end, [](double a) { return a == 0.0; })) return;
    project(g, t);
    double first = 0.0, second = 0.0;
    for (const auto& [k, excess] : support) {
        first += turn[k], second += turn[k] * turn[k];
        out.total += turn[k] * z[k] * p.groups.scale[g];
        out.size += std::fabs(turn[k] * z[k]) * p.groups.scale[g];
    }
    if (const int k = home[g]; k >= 0) {
        out.total -= turn[k] * p.groups.scale[g];
        out.size += std::fabs(turn[k]) * p.groups.scale[g];
    }
    const auto size = static_cast<double>(support.size());
    if (size > 1.0) out.bend += std::max(second - first * first / size, 0.0);
}

}  // namespace counterleaf
