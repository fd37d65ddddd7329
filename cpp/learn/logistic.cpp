#include "learn/logistic.hpp"

#include <cmath>
#include <utility>

namespace counterleaf::learn {
namespace {

constexpr double LEAST_CURVATURE = 1e-6;  // of p (1 - p): keeps the step of a coordinate finite if every row is far on its side
constexpr double DECREASE = 0.01;         // share of the promised decrease that a step must achieve
constexpr int HALVINGS = 12;

double l1_norm(Constants w) {
    double total = 0.0;
    for (double one : w) total += std::fabs(one);
    return total;
}

}  // namespace

double strength(double alpha, double total) { return alpha * std::sqrt(total / 1000.0); }

Descent::Descent(const Problem& problem, Split& split, Scratch& scratch)
    : problem_(problem), split_(split), z_(scratch.numbers(problem.sample.size())),
      fade_(scratch.numbers(problem.sample.size())), next_z_(scratch.numbers(problem.sample.size())),
      next_fade_(scratch.numbers(problem.sample.size())), next_w_(scratch.numbers(split.w.size())) {}

void Descent::begin() { value_ = loss(z_, fade_) + problem_.lam * l1_norm(split_.w); }

/// The weighted log-loss, without overflow.
double Descent::loss(Constants z, Numbers fade) const {
    const Sample& sample = problem_.sample;
    double total = 0.0;
    for (std::size_t i = 0; i < z.size(); ++i) {
        fade[i] = std::exp(-std::fabs(z[i]));
        total += sample.weight[i] * (std::log1p(fade[i]) + std::max(-(sample.side[i] * z[i]), 0.0));
    }
    return total;
}

Descent::Slopes Descent::differentiate(Numbers g, Numbers h) const {
    const Sample& sample = problem_.sample;
    Slopes sum{0.0, 0.0};
    for (std::size_t i = 0; i < z_.size(); ++i) {
        const double e = fade_[i], p = (z_[i] >= 0.0 ? 1.0 : e) / (1.0 + e);
        g[i] = sample.weight[i] * (p - (sample.side[i] > 0.0 ? 1.0 : 0.0));
        h[i] = sample.weight[i] * std::max(e / ((1.0 + e) * (1.0 + e)), LEAST_CURVATURE);
        sum.first += g[i];
        sum.second += h[i];
    }
    return sum;
}

bool Descent::advance(Constants dw, double db, Constants along, double promised) {
    double step = 1.0;
    for (int halving = 0; halving < HALVINGS; ++halving, step *= 0.5) {
        for (std::size_t i = 0; i < z_.size(); ++i) next_z_[i] = z_[i] + step * along[i];
        for (std::size_t j = 0; j < next_w_.size(); ++j) next_w_[j] = split_.w[j] + step * dw[j];
        const double reached = loss(next_z_, next_fade_) + problem_.lam * l1_norm(next_w_);
        if (reached <= value_ + DECREASE * step * promised) {
            std::swap(z_, next_z_);
            std::swap(fade_, next_fade_);
            std::ranges::copy(next_w_, split_.w.begin());
            split_.b += step * db;
            value_ = reached;
            return true;
        }
    }
    return false;
}

}  // namespace counterleaf::learn
