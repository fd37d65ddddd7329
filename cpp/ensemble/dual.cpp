#include "ensemble/dual.hpp"

#include <cmath>

namespace counterleaf::ensemble {
namespace {

// How fast the multipliers of cost and of rows move compared with messages; found by trial.
constexpr double COST_PACE = 10.0, ROW_PACE = 0.01, MEMORY = 0.6, GAIN = 0.01, AIM = 0.05;
constexpr double SLOWEST = 0.05;  // the factor of the step length at which the ascent ends

}  // namespace

void Dual::refresh(Problem& p, bool with_leaves) {
    if (with_leaves) {
        const std::size_t leaves = p.leaf_gain.size() / rows_;
        p.leaf_energy.resize(leaves);
        for (std::size_t l = 0; l < leaves; ++l) {
            double sum = 0.0;
            for (int r = 0; r < rows_; ++r) sum -= p.lambda[r] * p.leaf_gain[l * rows_ + r];
            p.leaf_energy[l] = sum;
        }
    }
    p.residual.resize(p.states());
    change_.assign(p.states() + 1, 0.0);
    for (std::size_t z = 0; z + 1 < p.links.size(); ++z) {
        const Link& link = p.links[z];
        double* at = &change_[p.state_start[link.variable]];
        const double* m = &p.message[link.message];
        double last = 0.0;
        for (int i = link.run; i < p.links[z + 1].run; ++i) {
            const double now = m[p.run_piece[i]];
            at[p.run_state[i]] += now - last;
            last = now;
        }
    }
    for (int v = 0; v < p.variables(); ++v) {
        double sum = 0.0, price = 0.0;
        for (std::size_t i = 0; i < q_.limits.size(); ++i)
            if (q_.limits[i].members[p.coordinate[v]]) price += p.nu[i];
        for (int s = p.state_start[v]; s < p.state_start[v + 1]; ++s) {
            sum += change_[s];
            double x = p.mu * p.cost[s] - sum;
            if (p.moved[s]) x += price;
            for (int r = 0; r < rows_; ++r) x -= p.lambda[r] * p.gain[static_cast<std::size_t>(s) * rows_ + r];
            p.residual[s] = x;
        }
    }
}

double Dual::energies(const Problem& p, int f) {
    const int first = p.link_start[f], links = p.link_start[f + 1] - first, l0 = p.leaf_start[f], l1 = p.leaf_start[f + 1];
    const int i0 = p.interval_start[f], i1 = p.interval_start[f + 1];
    least_.resize(links);
    theta_.resize(l1 - l0);
    interval_least_.resize(i1 - i0);
    double all = 0.0;
    for (int q = 0; q < links; ++q) {
        const Link& link = p.links[first + q];
        const double* m = &p.message[link.message];
        least_[q] = *std::min_element(m, m + link.pieces);
        all += least_[q];
    }
    for (int i = i0; i < i1; ++i) {
        const Interval& interval = p.intervals[i];
        interval_least_[i - i0] = p.least(interval, &p.message[p.links[first + interval.link].message]) - least_[interval.link];
    }
    const double* above = interval_least_.data() - i0;
    double best = INF;
    for (int l = l0; l < l1; ++l) {
        double sum = all + p.leaf_energy[l];
        for (int e = p.entry_start[l]; e < p.entry_start[l + 1]; ++e) sum += above[p.entries[e]];
        theta_[l - l0] = sum;
        if (sum < best) {
            best = sum;
            best_leaf_ = l;
        }
    }
    return best;
}

const std::vector<double>& Dual::marginals(const Problem& p, int f) {
    const int first = p.link_start[f], links = p.link_start[f + 1] - first, l0 = p.leaf_start[f], l1 = p.leaf_start[f + 1];
    const int i0 = p.interval_start[f], i1 = p.interval_start[f + 1];
    const int m0 = p.links[first].message, m1 = p.links[first + links].message;
    marginal_.assign(m1 - m0, INF);
    interval_best_.assign(i1 - i0, INF);
    // the least energy of a leaf that does not depend on a link: that of the best leaf, except for the links of that leaf
    away_.assign(links, theta_[best_leaf_ - l0]);
    stamp_.assign(links, -1);
    const int e0 = p.entry_start[best_leaf_], e1 = p.entry_start[best_leaf_ + 1];
    for (int e = e0; e < e1; ++e) away_[p.intervals[p.entries[e]].link] = INF;
    for (int l = l0; l < l1; ++l) {
        const double theta = theta_[l - l0];
        for (int e = p.entry_start[l]; e < p.entry_start[l + 1]; ++e) {
            double& best = interval_best_[p.entries[e] - i0];
            best = std::min(best, theta);
            stamp_[p.intervals[p.entries[e]].link] = l;
        }
        for (int e = e0; e < e1; ++e) {
            const int q = p.intervals[p.entries[e]].link;
            if (stamp_[q] != l) away_[q] = std::min(away_[q], theta);
        }
    }
    for (int i = i0; i < i1; ++i) {
        const Interval& interval = p.intervals[i];
        const int at = p.links[first + interval.link].message;
        const double* m = &p.message[at];
        double* out = &marginal_[at - m0];
        const double rest = interval_best_[i - i0] - (interval_least_[i - i0] + least_[interval.link]);
        p.each_piece(interval, [&](int k) { out[k] = std::min(out[k], rest + m[k]); });
    }
    for (int q = 0; q < links; ++q) {
        if (away_[q] == INF) continue;
        const Link& link = p.links[first + q];
        const double rest = away_[q] - least_[q];
        for (int k = 0; k < link.pieces; ++k) {
            double& out = marginal_[link.message - m0 + k];
            out = std::min(out, rest + p.message[link.message + k]);
        }
    }
    return marginal_;
}

double Dual::value(const Problem& p, double cutoff) {
    double z = -p.mu * (cutoff - p.base);
    for (int r = 0; r < rows_; ++r) z -= p.lambda[r] * p.bias[r];
    for (std::size_t i = 0; i < p.left.size(); ++i) z -= p.nu[i] * p.left[i];
    for (int v = 0; v < p.variables(); ++v)
        z += *std::min_element(p.residual.begin() + p.state_start[v], p.residual.begin() + p.state_start[v + 1]);
    for (int f = 0; f < p.factors(); ++f) z += energies(p, f);
    return z;
}

/// Z, and its slopes in all multipliers at the states and leaves that attain the minima.
double Dual::slopes(const Problem& p, double cutoff, double width) {
    double z = -p.mu * (cutoff - p.base);
    slope_.mu = -1.0;
    for (int r = 0; r < rows_; ++r) {
        z -= p.lambda[r] * p.bias[r];
        slope_.lambda[r] = -p.bias[r];
    }
    for (std::size_t i = 0; i < p.left.size(); ++i) {
        z -= p.nu[i] * p.left[i];
        slope_.nu[i] = -p.left[i];
    }
    best_state_.resize(p.variables());
    for (int v = 0; v < p.variables(); ++v) {
        const auto begin = p.residual.begin() + p.state_start[v], end = p.residual.begin() + p.state_start[v + 1];
        const int s = static_cast<int>(std::min_element(begin, end) - p.residual.begin());
        best_state_[v] = s - p.state_start[v];
        z += p.residual[s];
        slope_.mu += p.cost[s] / width;
        for (int r = 0; r < rows_; ++r) slope_.lambda[r] -= p.gain[static_cast<std::size_t>(s) * rows_ + r];
        for (std::size_t i = 0; i < p.left.size(); ++i)
            slope_.nu[i] += p.moved[s] != 0 && q_.limits[i].members[p.coordinate[v]] != 0;
    }
    slope_.message.assign(p.message.size(), 0.0);
    for (int f = 0; f < p.factors(); ++f) {
        z += energies(p, f);
        factor_slopes(p, f);
    }
    return z;
}

/// The piece of the best state of a link's variable, which seldom changes from step to step.
int Dual::wanted(const Problem& p, int z) {
    const int state = best_state_[p.links[z].variable];
    if (wanted_state_[z] != state) {
        wanted_state_[z] = state;
        wanted_[z] = p.piece(z, state);
    }
    return wanted_[z];
}

/// After ``energies``: the slopes in the messages of one factor. Where its best leaf allows the piece of the best state, both
/// agree.
void Dual::factor_slopes(const Problem& p, int f) {
    const int first = p.link_start[f], links = p.link_start[f + 1] - first;
    for (int r = 0; r < rows_; ++r) slope_.lambda[r] -= p.leaf_gain[static_cast<std::size_t>(best_leaf_) * rows_ + r];
    stamp_.assign(links, -1);
    const auto pull = [&](int z, int from, int to) {
        if (from == to) return;
        slope_.message[p.links[z].message + to] += 1.0;
        slope_.message[p.links[z].message + from] -= 1.0;
    };
    for (int e = p.entry_start[best_leaf_]; e < p.entry_start[best_leaf_ + 1]; ++e) {
        const Interval& interval = p.intervals[p.entries[e]];
        const int z = first + interval.link;
        stamp_[interval.link] = 1;
        const double* m = &p.message[p.links[z].message];
        const int here = wanted(p, z);
        int at = -1;
        p.each_piece(interval, [&](int k) {
            if (k == here) at = k;
        });
        p.each_piece(interval, [&](int k) {
            if (at < 0 || m[k] < m[at]) at = k;
        });
        pull(z, here, at);
    }
    for (int q = 0; q < links; ++q) {
        if (stamp_[q] == 1) continue;
        const int z = first + q, here = wanted(p, z);
        const double* m = &p.message[p.links[z].message];
        if (m[here] > least_[q]) pull(z, here, static_cast<int>(std::min_element(m, m + p.links[z].pieces) - m));
    }
}

/// Take a step along the direction, and keep the multipliers valid.
void Dual::move(Problem& p, double step, double width) {
    for (std::size_t i = 0; i < p.message.size(); ++i) p.message[i] += step * way_.message[i];
    p.mu = std::max(0.0, p.mu + step * COST_PACE * way_.mu / width);
    for (std::size_t i = 0; i < p.nu.size(); ++i) p.nu[i] = std::max(0.0, p.nu[i] + step * way_.nu[i]);
    if (rows_ > 1) {
        double sum = 0.0;
        for (int r = 0; r < rows_; ++r) sum += p.lambda[r] = std::max(0.0, p.lambda[r] + step * ROW_PACE * way_.lambda[r]);
        for (double& x : p.lambda) x = sum > 0.0 ? x / sum : 1.0 / rows_;
    }
    refresh(p, rows_ > 1);
}

double Dual::ascend(Problem& p, double cutoff, double goal, const AscentOptions& options) {
    const double width = std::max(1e-300, cutoff - p.base);
    double best = -INF, first = 0.0, factor = options.factor, best_mu = p.mu;
    std::vector<double> best_message = p.message, best_lambda = p.lambda, best_nu = p.nu;
    const auto forget = [&] {
        way_.message.assign(p.message.size(), 0.0);
        way_.lambda.assign(rows_, 0.0);
        way_.nu.assign(p.nu.size(), 0.0);
        way_.mu = 0.0;
    };
    const auto restore = [&] {
        p.message = best_message;
        p.lambda = best_lambda;
        p.nu = best_nu;
        p.mu = best_mu;
        refresh(p, rows_ > 1);
    };
    wanted_.assign(p.links.size(), 0);
    wanted_state_.assign(p.links.size(), -1);
    slope_.lambda.resize(rows_);
    slope_.nu.resize(p.nu.size());
    forget();
    int since = 0;
    for (int step = 0; step < options.steps && !stop_.is_due(); ++step) {
        const double z = slopes(p, cutoff, width);
        if (step == 0) first = z;
        if (z > best) {
            if (z > best + GAIN * std::fabs(best)) since = 0;
            best = z;
            best_message = p.message;
            best_lambda = p.lambda;
            best_nu = p.nu;
            best_mu = p.mu;
            if (z > goal) break;
        }
        if (++since > options.patience) {
            factor *= options.decay;
            since = 0;
            if (factor < SLOWEST) break;
            restore();
            forget();
            continue;
        }
        double norm = 0.0, mean = 0.0;
        const auto deflect = [&](double& way, double slope, double pace) {
            way = slope + MEMORY * way;
            norm += pace * way * way;
        };
        for (std::size_t i = 0; i < p.message.size(); ++i) deflect(way_.message[i], slope_.message[i], 1.0);
        deflect(way_.mu, slope_.mu, COST_PACE);
        for (std::size_t i = 0; i < p.nu.size(); ++i) deflect(way_.nu[i], slope_.nu[i], 1.0);
        for (int r = 0; r < rows_; ++r) mean += slope_.lambda[r] / rows_;
        for (int r = 0; r < rows_; ++r) deflect(way_.lambda[r], slope_.lambda[r] - mean, ROW_PACE);
        if (norm < 1e-18) break;
        move(p, factor * (std::max(10.0 * goal, AIM * std::fabs(first)) - z) / norm, width);
    }
    restore();
    return best;
}

/// One monotone block step: the factor takes what its variables hold, and hands equal shares of its min-marginals back.
void Dual::block(Problem& p, int f, double most) {
    const int first = p.link_start[f], links = p.link_start[f + 1] - first;
    for (int z = first; z < first + links; ++z) {
        const Link& link = p.links[z];
        double* r = &p.residual[p.state_start[link.variable]];
        piece_least_.assign(link.pieces, INF);
        for (int i = link.run; i < p.links[z + 1].run; ++i) {
            double& least = piece_least_[p.run_piece[i]];
            for (int s = p.run_state[i]; s < p.run_end(z, i); ++s) least = std::min(least, r[s]);
        }
        for (int k = 0; k < link.pieces; ++k) p.message[link.message + k] += piece_least_[k];
        for (int i = link.run; i < p.links[z + 1].run; ++i)
            for (int s = p.run_state[i]; s < p.run_end(z, i); ++s) r[s] -= piece_least_[p.run_piece[i]];
    }
    const double least = energies(p, f);
    const std::vector<double>& found = marginals(p, f);
    const int m0 = p.links[first].message;
    for (int z = first; z < first + links; ++z) {
        const Link& link = p.links[z];
        double* r = &p.residual[p.state_start[link.variable]];
        piece_least_.resize(link.pieces);
        for (int k = 0; k < link.pieces; ++k) {
            piece_least_[k] = std::min(found[link.message - m0 + k] - least, most) / links;
            p.message[link.message + k] -= piece_least_[k];
        }
        for (int i = link.run; i < p.links[z + 1].run; ++i)
            for (int s = p.run_state[i]; s < p.run_end(z, i); ++s) r[s] += piece_least_[p.run_piece[i]];
    }
}

double Dual::sweep(Problem& p, double cutoff) {
    double most = 10.0;
    for (const double bias : p.bias) most += std::fabs(bias);
    for (int f = 0; f < p.factors() && !stop_.is_due(); ++f) block(p, f, most);
    for (int f = p.factors() - 1; f >= 0 && !stop_.is_due(); --f) block(p, f, most);
    return value(p, cutoff);
}

double Dual::round(Problem& p, double largest_gain, int bits) {
    double largest = largest_gain;
    for (const double m : p.message) largest = std::max(largest, std::fabs(m));
    int exponent = 0;
    std::frexp(largest, &exponent);
    const double unit = std::ldexp(1.0, exponent - bits);
    for (double& m : p.message) m = std::nearbyint(m / unit) * unit;
    refresh(p, false);
    return unit;
}

}  // namespace counterleaf::ensemble
