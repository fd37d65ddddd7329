#include "ensemble/branching.hpp"

namespace counterleaf::ensemble {

void Branching::Rises::clear(int states) {
    for (std::vector<double>* line : {&state, &first, &second, &state_change, &first_change, &second_change})
        line->assign(states + 1, 0.0);
}

/// Add a function of the states of a variable, whose least value is 0.
void Branching::Rises::add(const Problem& p, int v, bool grouped, const std::vector<double>& x) {
    const int at = p.state_start[v], n = p.states_of(v);
    for (int s = 0; s < n; ++s) state[at + s] += x[s];
    if (!grouped) {
        double low = INF;
        for (int s = 0; s < n; ++s) first[at + s] += low = std::min(low, x[s]);
        low = INF;
        for (int s = n - 1; s > 0; --s) second[at + s - 1] += low = std::min(low, x[s]);
        return;
    }
    double low = INF, next = INF;
    int best = -1;
    for (int s = 0; s < n; ++s) {
        if (x[s] < low) {
            next = low;
            low = x[s];
            best = s;
        } else {
            next = std::min(next, x[s]);
        }
    }
    for (int s = 0; s < n; ++s) {
        first[at + s] += x[s];
        second[at + s] += s == best ? next : low;
    }
}

/// Add a function of the pieces of a link. For numbers only the changes from run to run are noted, which ``finish`` adds up.
void Branching::Rises::add_pieces(const Problem& p, int z, bool grouped, const double* x) {
    const Link& link = p.links[z];
    const int at = p.state_start[link.variable], begin = link.run, end = p.links[z + 1].run;
    if (grouped) {
        spread_.resize(p.states_of(link.variable));
        for (int i = begin; i < end; ++i)
            for (int s = p.run_state[i]; s < p.run_end(z, i); ++s) spread_[s] = x[p.run_piece[i]];
        add(p, link.variable, true, spread_);
        return;
    }
    double last = 0.0, low = INF, last_low = 0.0;
    for (int i = begin; i < end; ++i) {
        const double now = x[p.run_piece[i]];
        state_change[at + p.run_state[i]] += now - last;
        last = now;
        low = std::min(low, now);
        first_change[at + p.run_state[i]] += low - last_low;
        last_low = low;
    }
    low = INF;
    for (int i = end - 1; i >= begin; --i) {  // a cut after state s sees the runs from s + 1 on
        low = std::min(low, x[p.run_piece[i]]);
        const int from = std::max(p.run_state[i] - 1, 0), to = p.run_end(z, i) - 1;
        if (to <= from) continue;
        second_change[at + from] += low;
        second_change[at + to] -= low;
    }
}

void Branching::Rises::finish(const Problem& p) {
    for (int v = 0; v < p.variables(); ++v) {
        double a = 0.0, b = 0.0, c = 0.0;
        for (int s = p.state_start[v]; s < p.state_start[v + 1]; ++s) {
            state[s] += a += state_change[s];
            first[s] += b += first_change[s];
            second[s] += c += second_change[s];
        }
    }
}

void Branching::with_messages(const Problem& p) {
    priced_.clear(p.states());
    for (int v = 0; v < p.variables(); ++v) {
        const auto begin = p.residual.begin() + p.state_start[v], end = p.residual.begin() + p.state_start[v + 1];
        const double low = *std::min_element(begin, end);
        numbers_.assign(begin, end);
        for (double& x : numbers_) x -= low;
        priced_.add(p, v, q_.forest.grouped[p.coordinate[v]] != 0, numbers_);
    }
    for (int f = 0; f < p.factors(); ++f) {
        const double low = dual_.energies(p, f);
        numbers_ = dual_.marginals(p, f);
        for (double& x : numbers_) x = std::min(x - low, 4.0 * q_.target.scale);
        const int first = p.link_start[f], m0 = p.links[first].message;
        for (int z = first; z < p.link_start[f + 1]; ++z)
            priced_.add_pieces(p, z, q_.forest.grouped[p.coordinate[p.links[z].variable]] != 0,
                               &numbers_[p.links[z].message - m0]);
    }
    priced_.finish(p);
}

/// The same as if there were no messages: what the best gains and the costs alone say. It is a better guide to where to divide.
void Branching::without_messages(const Problem& p) {
    plain_.clear(p.states());
    for (int v = 0; v < p.variables(); ++v) {
        numbers_.resize(p.states_of(v));
        double low = INF;
        for (int s = 0; s < p.states_of(v); ++s) {
            const int at = p.state_start[v] + s;
            double x = p.mu * p.cost[at];
            for (int r = 0; r < rows_; ++r) x -= p.lambda[r] * p.gain[static_cast<std::size_t>(at) * rows_ + r];
            numbers_[s] = x;
            low = std::min(low, x);
        }
        for (double& x : numbers_) x -= low;
        plain_.add(p, v, q_.forest.grouped[p.coordinate[v]] != 0, numbers_);
    }
    for (int f = 0; f < p.factors(); ++f) plain_marginals(p, f);
    plain_.finish(p);
}

void Branching::plain_marginals(const Problem& p, int f) {
    const int first = p.link_start[f], links = p.link_start[f + 1] - first, l0 = p.leaf_start[f], l1 = p.leaf_start[f + 1];
    const int m0 = p.links[first].message;
    const int best =
        static_cast<int>(std::min_element(p.leaf_energy.begin() + l0, p.leaf_energy.begin() + l1) - p.leaf_energy.begin());
    const int e0 = p.entry_start[best], e1 = p.entry_start[best + 1];  // other links rise by nothing
    const double low = p.leaf_energy[best];
    const int i0 = p.interval_start[f], i1 = p.interval_start[f + 1];
    numbers_.assign(p.links[first + links].message - m0, INF);
    best_.assign(i1 - i0, INF);
    away_.assign(links, INF);
    stamp_.assign(links, -1);
    for (int l = l0; l < l1; ++l) {
        const double energy = p.leaf_energy[l];
        for (int e = p.entry_start[l]; e < p.entry_start[l + 1]; ++e) {
            double& least = best_[p.entries[e] - i0];
            least = std::min(least, energy);
            stamp_[p.intervals[p.entries[e]].link] = l;
        }
        for (int e = e0; e < e1; ++e) {
            const int q = p.intervals[p.entries[e]].link;
            if (stamp_[q] != l) away_[q] = std::min(away_[q], energy);
        }
    }
    for (int i = i0; i < i1; ++i) {
        double* to = &numbers_[p.links[first + p.intervals[i].link].message - m0];
        p.each_piece(p.intervals[i], [&](int k) { to[k] = std::min(to[k], best_[i - i0]); });
    }
    for (int e = e0; e < e1; ++e) {
        const int q = p.intervals[p.entries[e]].link, z = first + q;
        double* x = &numbers_[p.links[z].message - m0];
        for (int k = 0; k < p.links[z].pieces; ++k) x[k] = std::min(std::min(x[k], away_[q]) - low, 4.0 * q_.target.scale);
        plain_.add_pieces(p, z, q_.forest.grouped[p.coordinate[p.links[z].variable]] != 0, x);
    }
}

/// The cut with the largest product of what both sides rise by.
void Branching::choose(const Problem& p, double gap, Cut& cut) const {
    const double least = std::max(1e-12, 1e-3 * gap);
    double score = -1.0;
    int at = -1;
    for (int v = 0; v < p.variables(); ++v) {
        const bool grouped = q_.forest.grouped[p.coordinate[v]] != 0;
        for (int s = p.state_start[v]; s < p.state_start[v + 1] - (grouped ? 0 : 1); ++s) {
            const double worth = std::max(plain_.first[s], least) * std::max(plain_.second[s], least);
            if (!(worth > score)) continue;
            score = worth;
            at = s;
            cut.variable = v;
        }
    }
    cut.rise[0] = priced_.first[at];
    cut.rise[1] = priced_.second[at];
    cut.first.assign(p.states(), 0);
    const bool grouped = q_.forest.grouped[p.coordinate[cut.variable]] != 0;
    for (int s = p.state_start[cut.variable]; s <= at; ++s) cut.first[s] = !grouped || s == at;
}

Reduction Branching::reduce(const Problem& p, double z, double enough) {
    Reduction out;
    with_messages(p);
    out.removed.assign(p.states(), 0);
    out.guess = p.fixed;
    for (int v = 0; v < p.variables(); ++v) {
        int best = p.state_start[v];
        for (int s = p.state_start[v]; s < p.state_start[v + 1]; ++s) {
            if (z + priced_.state[s] > enough) {
                out.removed[s] = 1;
                out.some = true;
            }
            if (priced_.state[s] < priced_.state[best]) best = s;
        }
        out.guess[p.coordinate[v]] = p.cell[best];
    }
    without_messages(p);
    choose(p, enough - z, out.cut);
    return out;
}

}  // namespace counterleaf::ensemble
