#include "ensemble/shrink.hpp"

namespace counterleaf::ensemble {
namespace {

constexpr int PASSES = 50, THOROUGH = 2;  // how often states are removed at most, and how often by the rows of the target

}  // namespace

std::optional<Problem> Shrinking::shrink(const Problem& p, std::vector<std::uint8_t>& keep, double cutoff, Proof* proof,
                                         int node) {
    if (!propagate(p, keep, cutoff, proof, node)) return {};
    return rebuild(p, keep);
}

bool Shrinking::propagate(const Problem& p, std::vector<std::uint8_t>& keep, double cutoff, Proof* proof, int node) {
    for (int pass = 0; pass < PASSES; ++pass) {
        changed_ = false;
        if (!remove_costly(p, keep, cutoff) || !obey_limits(p, keep)) return false;
        index(p, keep);
        removed_.assign(p.states(), 0);
        if (!find_leaves(p, cutoff) || !remove_hopeless(p, keep, pass < THOROUGH)) return false;
        bool some = false;
        for (int s = 0; s < p.states(); ++s) {
            removed_[s] = removed_[s] && keep[s];
            some |= removed_[s] != 0;
            if (removed_[s]) keep[s] = 0;
        }
        if (some && proof != nullptr) proof->reduce(p, node, removed_, -1);
        if (!some && !changed_) break;
    }
    if (!remove_costly(p, keep, cutoff)) return false;
    index(p, keep);
    return true;
}

/// Remove the states that cost too much together with the cheapest states of all others; false if nothing is left.
bool Shrinking::remove_costly(const Problem& p, std::vector<std::uint8_t>& keep, double cutoff) {
    least_.assign(p.variables(), INF);
    base_ = p.base;
    for (int v = 0; v < p.variables(); ++v) {
        for (int s = p.state_start[v]; s < p.state_start[v + 1]; ++s)
            if (keep[s]) least_[v] = std::min(least_[v], p.cost[s]);
        base_ += least_[v];
    }
    if (!(base_ < cutoff)) return false;
    for (int v = 0; v < p.variables(); ++v) {
        for (int s = p.state_start[v]; s < p.state_start[v + 1]; ++s) {
            if (!keep[s] || base_ + (p.cost[s] - least_[v]) < cutoff) continue;
            keep[s] = 0;
            changed_ = true;
        }
    }
    return true;
}

/// Keep the other members of a limit where they are if as many move as may; false if more do.
bool Shrinking::obey_limits(const Problem& p, std::vector<std::uint8_t>& keep) {
    for (std::size_t i = 0; i < p.left.size(); ++i) {
        const ChangeLimit& limit = q_.limits[i];
        std::vector<int> free;
        int moving = 0;
        for (int v = 0; v < p.variables(); ++v) {
            if (!limit.members[p.coordinate[v]]) continue;
            bool stays = false;
            for (int s = p.state_start[v]; s < p.state_start[v + 1]; ++s) stays |= keep[s] && !p.moved[s];
            if (stays) free.push_back(v);
            moving += !stays;
        }
        if (moving > p.left[i]) return false;
        if (moving < p.left[i]) continue;
        for (const int v : free) {
            for (int s = p.state_start[v]; s < p.state_start[v + 1]; ++s) {
                if (!keep[s] || !p.moved[s]) continue;
                keep[s] = 0;
                changed_ = true;
            }
        }
    }
    return true;
}

void Shrinking::index(const Problem& p, const std::vector<std::uint8_t>& keep) {
    next_.resize(p.states());
    before_.resize(p.states());
    source_.resize(p.variables());
    for (int v = 0; v < p.variables(); ++v) {
        const int a = p.state_start[v], b = p.state_start[v + 1];
        source_[v] = static_cast<int>(std::min_element(p.cost.begin() + a, p.cost.begin() + b) - p.cost.begin());
        for (int s = a, last = -1; s < b; ++s) before_[s] = last = keep[s] ? s : last;
        for (int s = b - 1, last = -1; s >= a; --s) next_[s] = last = keep[s] ? s : last;
    }
}

/// The least cost of a state in first .. last - 1 that is kept, infinity if there is none.
double Shrinking::cheapest(const Problem& p, int v, int first, int last) const {
    if (q_.forest.grouped[p.coordinate[v]]) {
        double out = INF;
        for (int s = next_[first]; s >= 0 && s < last; s = s + 1 < last ? next_[s + 1] : -1) out = std::min(out, p.cost[s]);
        return out;
    }
    const int middle = std::clamp(source_[v], first, last - 1);
    const int up = next_[middle], down = before_[middle];
    double out = INF;
    if (up >= 0 && up < last) out = p.cost[up];
    if (down >= first) out = std::min(out, p.cost[down]);
    return out;
}

/// Find the pieces of a factor's links that have a state left, and what each costs above the least.
void Shrinking::factor_pieces(const Problem& p, int f) {
    const int m0 = p.links[p.link_start[f]].message, m1 = p.links[p.link_start[f + 1]].message;
    std::fill(piece_cost_.begin() + m0, piece_cost_.begin() + m1, INF);
    for (int z = p.link_start[f]; z < p.link_start[f + 1]; ++z) {
        const Link& link = p.links[z];
        const int at = p.state_start[link.variable];
        for (int i = link.run; i < p.links[z + 1].run; ++i) {
            const double found = cheapest(p, link.variable, at + p.run_state[i], at + p.run_end(z, i)) - least_[link.variable];
            double& cost = piece_cost_[link.message + p.run_piece[i]];
            cost = std::min(cost, found);
        }
    }
}

/// After ``factor_pieces``: what the cheapest piece of each interval of a factor costs above the least.
void Shrinking::interval_costs(const Problem& p, int f) {
    for (int i = p.interval_start[f]; i < p.interval_start[f + 1]; ++i)
        interval_cost_[i] = p.least(p.intervals[i], &piece_cost_[p.links[p.link_of(f, i)].message]);
}

/// Find the leaves that a row cheaper than the cutoff can reach; false if a tree has none.
bool Shrinking::find_leaves(const Problem& p, double cutoff) {
    alive_.assign(p.entry_start.size(), 0);
    used_.assign(p.intervals.size(), 0);
    piece_cost_.resize(p.message.size());
    interval_cost_.resize(p.intervals.size());
    most_.assign(static_cast<std::size_t>(p.factors()) * rows_, -INF);
    for (int f = 0; f < p.factors(); ++f) {
        factor_pieces(p, f);
        interval_costs(p, f);
        bool some = false;
        for (int l = p.leaf_start[f]; l < p.leaf_start[f + 1]; ++l) {
            double extra = 0.0;
            for (int e = p.entry_start[l]; e < p.entry_start[l + 1]; ++e) extra += interval_cost_[p.entries[e]];
            if (!(base_ + extra < cutoff)) continue;
            alive_[l] = 1;
            some = true;
            for (int e = p.entry_start[l]; e < p.entry_start[l + 1]; ++e) used_[p.entries[e]] = 1;
            for (int r = 0; r < rows_; ++r) {
                double& most = most_[static_cast<std::size_t>(f) * rows_ + r];
                most = std::max(most, p.leaf_gain[static_cast<std::size_t>(l) * rows_ + r]);
            }
        }
        if (!some) return false;
        remove_uncovered(p, f);
    }
    return true;
}

/// Remove the states that lie in no leaf of a factor.
void Shrinking::remove_uncovered(const Problem& p, int f) {
    const int first = p.link_start[f], links = p.link_start[f + 1] - first, m0 = p.links[first].message;
    covered_.assign(p.links[first + links].message - m0, 0);
    found_.assign(links, 0);
    int leaves = 0;
    for (int l = p.leaf_start[f]; l < p.leaf_start[f + 1]; ++l) {
        if (!alive_[l]) continue;
        ++leaves;
        for (int e = p.entry_start[l]; e < p.entry_start[l + 1]; ++e) ++found_[p.intervals[p.entries[e]].link];
    }
    for (int i = p.interval_start[f]; i < p.interval_start[f + 1]; ++i) {
        if (!used_[i] || found_[p.intervals[i].link] < leaves) continue;
        std::uint8_t* covered = &covered_[p.links[p.link_of(f, i)].message - m0];
        p.each_piece(p.intervals[i], [&](int k) { covered[k] = 1; });
    }
    for (int q = 0; q < links; ++q) {
        if (found_[q] < leaves) continue;  // some leaf does not depend on this variable
        const Link& link = p.links[first + q];
        const int at = p.state_start[link.variable];
        for (int i = link.run; i < p.links[first + q + 1].run; ++i) {
            if (covered_[link.message - m0 + p.run_piece[i]]) continue;
            std::fill(removed_.begin() + at + p.run_state[i], removed_.begin() + at + p.run_end(first + q, i), 1);
        }
    }
}

/// Remove the states from which a row of the target is out of reach, even if every tree and every other state is at its best;
/// false if that holds for all states.
bool Shrinking::remove_hopeless(const Problem& p, const std::vector<std::uint8_t>& keep, bool thorough) {
    const double low = -q_.target.rounding();
    for (int r = 0; r < rows_; ++r) {
        double total = p.bias[r];
        for (int f = 0; f < p.factors(); ++f) total += most_[static_cast<std::size_t>(f) * rows_ + r];
        best_.assign(p.variables(), -INF);
        for (int v = 0; v < p.variables(); ++v) {
            for (int s = p.state_start[v]; s < p.state_start[v + 1]; ++s)
                if (keep[s]) best_[v] = std::max(best_[v], p.gain[static_cast<std::size_t>(s) * rows_ + r]);
            total += best_[v];
        }
        if (total < low) return false;
        if (!thorough) continue;
        loss_.assign(p.states() + 1, 0.0);
        for (int f = 0; f < p.factors(); ++f) add_losses(p, f, r);
        for (int v = 0; v < p.variables(); ++v) {
            double sum = 0.0;
            for (int s = p.state_start[v]; s < p.state_start[v + 1]; ++s) {
                sum += loss_[s];
                if (total + sum + (p.gain[static_cast<std::size_t>(s) * rows_ + r] - best_[v]) < low) removed_[s] = 1;
            }
        }
    }
    return true;
}

/// Add what each state loses of a factor's best gain in one row; as differences between neighbouring states.
void Shrinking::add_losses(const Problem& p, int f, int r) {
    const int first = p.link_start[f], links = p.link_start[f + 1] - first, m0 = p.links[first].message;
    const auto gain = [&](int l) { return p.leaf_gain[static_cast<std::size_t>(l) * rows_ + r]; };
    const double top = most_[static_cast<std::size_t>(f) * rows_ + r];
    int best = p.leaf_start[f];
    while (!alive_[best] || gain(best) < top) ++best;
    const int e0 = p.entry_start[best], e1 = p.entry_start[best + 1];  // other links lose nothing
    if (e0 == e1) return;
    const int i0 = p.interval_start[f], i1 = p.interval_start[f + 1];
    away_.assign(links, -INF);
    stamp_.assign(links, -1);
    interval_best_.assign(i1 - i0, -INF);
    piece_best_.assign(p.links[first + links].message - m0, -INF);
    for (int l = p.leaf_start[f]; l < p.leaf_start[f + 1]; ++l) {
        if (!alive_[l]) continue;
        const double here = gain(l);
        for (int e = p.entry_start[l]; e < p.entry_start[l + 1]; ++e) {
            double& most = interval_best_[p.entries[e] - i0];
            most = std::max(most, here);
            stamp_[p.intervals[p.entries[e]].link] = l;
        }
        for (int e = e0; e < e1; ++e) {
            const int q = p.intervals[p.entries[e]].link;
            if (stamp_[q] != l) away_[q] = std::max(away_[q], here);
        }
    }
    for (int i = i0; i < i1; ++i) {
        if (!used_[i]) continue;
        double* to = &piece_best_[p.links[p.link_of(f, i)].message - m0];
        p.each_piece(p.intervals[i], [&](int k) { to[k] = std::max(to[k], interval_best_[i - i0]); });
    }
    for (int e = e0; e < e1; ++e) {
        const int q = p.intervals[p.entries[e]].link, z = first + q;
        if (away_[q] == top) continue;
        const Link& link = p.links[z];
        double last = 0.0;
        for (int i = link.run; i < p.links[z + 1].run; ++i) {
            const double at_best = std::max(piece_best_[link.message - m0 + p.run_piece[i]], away_[q]);
            const double loss = std::max(at_best - top, -4.0 * q_.target.scale);  // no leaf: such states are removed anyway
            loss_[p.state_start[link.variable] + p.run_state[i]] += loss - last;
            last = loss;
        }
    }
}

Problem Shrinking::rebuild(const Problem& p, const std::vector<std::uint8_t>& keep) {
    Problem out;
    out.base = base_;
    out.bound = std::max(p.bound, base_);
    out.node = p.node;
    out.bias = p.bias;
    out.fixed = p.fixed;
    out.left = p.left;
    out.mu = p.mu;
    out.lambda = p.lambda;
    out.nu = p.nu;
    class_of_.assign(p.message.size(), -1);
    classes_.assign(p.links.size(), 1);
    for (int f = 0; f < p.factors(); ++f) classify(p, f);
    merge_states(p, keep, out);
    for (int f = 0; f < p.factors(); ++f) copy_factor(p, f, out);
    out.link_start.push_back(static_cast<int>(out.links.size()));
    out.leaf_start.push_back(static_cast<int>(out.entry_start.size()));
    out.interval_start.push_back(static_cast<int>(out.intervals.size()));
    out.entry_start.push_back(static_cast<int>(out.entries.size()));
    out.links.push_back({-1, 0, static_cast<int>(out.message.size()), static_cast<int>(out.run_state.size())});
    return out;
}

/// Find the classes of pieces that no remaining leaf of a factor tells apart, and the leaves that have no state left.
void Shrinking::classify(const Problem& p, int f) {
    factor_pieces(p, f);
    const int first = p.link_start[f], links = p.link_start[f + 1] - first;
    if (static_cast<int>(partitions_.size()) < links) partitions_.resize(links);
    for (int q = 0; q < links; ++q) {
        const Link& link = p.links[first + q];
        partitions_[q].start(link.pieces, !q_.forest.grouped[p.coordinate[link.variable]]);
    }
    interval_costs(p, f);
    std::fill(used_.begin() + p.interval_start[f], used_.begin() + p.interval_start[f + 1], 0);
    for (int l = p.leaf_start[f]; l < p.leaf_start[f + 1]; ++l) {
        for (int e = p.entry_start[l]; e < p.entry_start[l + 1] && alive_[l]; ++e)
            if (interval_cost_[p.entries[e]] == INF) alive_[l] = 0;
        if (!alive_[l]) continue;
        for (int e = p.entry_start[l]; e < p.entry_start[l + 1]; ++e) used_[p.entries[e]] = 1;
    }
    for (int i = p.interval_start[f]; i < p.interval_start[f + 1]; ++i) {
        if (!used_[i]) continue;
        const Interval& interval = p.intervals[i];
        if (interval.last >= 0) {
            partitions_[interval.link].cut_interval(interval.first, interval.last);
        } else {
            partitions_[interval.link].cut([&](auto inside) { p.each_piece(interval, inside); });
        }
    }
    for (int q = 0; q < links; ++q) {
        const Link& link = p.links[first + q];
        classes_[first + q] = partitions_[q].finish(found_, [&](int k) { return piece_cost_[link.message + k] < INF; });
        std::copy(found_.begin(), found_.end(), class_of_.begin() + link.message);
    }
}

/// Neighbouring states that nothing tells apart become one; a variable with one state is fixed.
void Shrinking::merge_states(const Problem& p, const std::vector<std::uint8_t>& keep, Problem& out) {
    edge_.assign(p.states(), 0);
    for (std::size_t z = 0; z + 1 < p.links.size(); ++z) {
        if (classes_[z] < 2) continue;
        const Link& link = p.links[z];
        const int at = p.state_start[link.variable];
        int last = -1;
        for (int i = link.run; i < p.links[z + 1].run; ++i) {
            const int s = next_[at + p.run_state[i]];
            if (s < 0 || s >= at + p.run_end(static_cast<int>(z), i)) continue;
            const int now = class_of_[link.message + p.run_piece[i]];
            if (now != last) edge_[s] = 1;
            last = now;
        }
    }
    new_state_.assign(p.states(), -1);
    new_variable_.assign(p.variables(), -1);
    out.state_start.push_back(0);
    const auto gains = [&](int s) { return p.gain.begin() + static_cast<std::ptrdiff_t>(s) * rows_; };
    for (int v = 0; v < p.variables(); ++v) {
        const int first = out.states();
        int before = -1;
        for (int s = p.state_start[v]; s < p.state_start[v + 1]; ++s) {
            if (!keep[s]) continue;
            const bool same = before >= 0 && !edge_[s] && p.key[s] == p.key[before] &&
                              std::equal(gains(s), gains(s) + rows_, gains(before)) &&
                              q_.may_replace(p.coordinate[v], p.cell[s], out.cell.back());
            if (!same) {
                out.cell.push_back(p.cell[s]);
                out.cost.push_back(p.cost[s] - least_[v]);
                out.moved.push_back(p.moved[s]);
                out.key.push_back(p.key[s]);
                out.gain.insert(out.gain.end(), gains(s), gains(s) + rows_);
            } else if (q_.is_better(p.coordinate[v], p.cell[s], out.cell.back())) {
                out.cell.back() = p.cell[s];
                out.cost.back() = p.cost[s] - least_[v];
                out.moved.back() = p.moved[s];
            }
            new_state_[s] = out.states() - 1;
            before = s;
        }
        if (out.states() > first + 1) {
            new_variable_[v] = out.variables();
            out.coordinate.push_back(p.coordinate[v]);
            out.state_start.push_back(out.states());
            continue;
        }
        out.fixed[p.coordinate[v]] = out.cell.back();
        for (int r = 0; r < rows_; ++r) out.bias[r] += out.gain[out.gain.size() - rows_ + r];
        for (std::size_t i = 0; i < out.left.size(); ++i)
            out.left[i] -= q_.limits[i].members[p.coordinate[v]] != 0 && out.moved.back() != 0;
        out.cell.pop_back();
        out.cost.pop_back();
        out.moved.pop_back();
        out.key.pop_back();
        out.gain.resize(out.gain.size() - rows_);
        for (int s = p.state_start[v]; s < p.state_start[v + 1]; ++s) new_state_[s] = -1;
    }
    out.state_of.resize(p.state_of.size());
    for (std::size_t k = 0; k < p.state_of.size(); ++k) {
        const int s = p.state_of[k];
        out.state_of[k] = s < 0 ? s : keep[s] ? new_state_[s] : -2;
    }
}

void Shrinking::copy_factor(const Problem& p, int f, Problem& out) {
    const int first = p.link_start[f], links = p.link_start[f + 1] - first;
    local_.assign(links, -1);
    int used = 0, only = -1;
    for (int q = 0; q < links; ++q) {
        if (classes_[first + q] < 2) continue;
        local_[q] = used++;
        only = first + q;
    }
    if (used == 0) {
        int leaf = p.leaf_start[f];
        while (!alive_[leaf]) ++leaf;
        for (int r = 0; r < rows_; ++r) out.bias[r] += p.leaf_gain[static_cast<std::size_t>(leaf) * rows_ + r];
        return;
    }
    if (used == 1) {
        fold(p, f, only, out);
        return;
    }
    out.tree.push_back(p.tree[f]);
    out.link_start.push_back(static_cast<int>(out.links.size()));
    out.leaf_start.push_back(static_cast<int>(out.entry_start.size()));
    out.interval_start.push_back(static_cast<int>(out.intervals.size()));
    for (int q = 0; q < links; ++q)
        if (local_[q] >= 0) copy_link(p, first + q, out);
    copy_intervals(p, f, out);
    for (int l = p.leaf_start[f]; l < p.leaf_start[f + 1]; ++l) {
        if (!alive_[l]) continue;
        const auto gain = p.leaf_gain.begin() + static_cast<std::ptrdiff_t>(l) * rows_;
        out.leaf_gain.insert(out.leaf_gain.end(), gain, gain + rows_);
        out.leaf_key.push_back(p.leaf_key[l]);
        out.entry_start.push_back(static_cast<int>(out.entries.size()));
        for (int e = p.entry_start[l]; e < p.entry_start[l + 1]; ++e)
            if (new_interval_[p.entries[e]] >= 0) out.entries.push_back(new_interval_[p.entries[e]]);
    }
}

/// A class of pieces inherits the least message of its pieces.
void Shrinking::copy_link(const Problem& p, int z, Problem& out) {
    const Link& link = p.links[z];
    const int at = p.state_start[link.variable], variable = new_variable_[link.variable];
    const int message = static_cast<int>(out.message.size());
    out.links.push_back({variable, classes_[z], message, static_cast<int>(out.run_state.size())});
    out.message.resize(message + classes_[z], INF);
    for (int k = 0; k < link.pieces; ++k) {
        const int now = class_of_[link.message + k];
        if (now >= 0) out.message[message + now] = std::min(out.message[message + now], p.message[link.message + k]);
    }
    int last = -1;
    for (int i = link.run; i < p.links[z + 1].run; ++i) {
        const int s = next_[at + p.run_state[i]];
        if (s < 0 || s >= at + p.run_end(z, i)) continue;
        const int now = class_of_[link.message + p.run_piece[i]];
        if (now == last) continue;
        out.run_state.push_back(new_state_[s] - out.state_start[variable]);
        out.run_piece.push_back(now);
        last = now;
    }
}

/// The intervals that leaves still use, in classes of pieces; those that cover their link are dropped, and equal ones become
/// one.
void Shrinking::copy_intervals(const Problem& p, int f, Problem& out) {
    new_interval_.resize(p.intervals.size());
    known_.clear();
    for (int i = p.interval_start[f]; i < p.interval_start[f + 1]; ++i) {
        const Interval& interval = p.intervals[i];
        new_interval_[i] = -1;
        if (!used_[i] || local_[interval.link] < 0) continue;
        const int z = p.link_of(f, i);
        const int* class_of = &class_of_[p.links[z].message];
        const auto begin = static_cast<std::ptrdiff_t>(out.listed.size());
        if (interval.last >= 0) {  // of pieces in order, whose classes are in order
            int from = interval.first, to = interval.last;
            while (class_of[from] < 0) ++from;
            while (class_of[to] < 0) --to;
            known_.push_back({local_[interval.link], class_of[from], class_of[to], i});
            if (class_of[to] - class_of[from] + 1 == classes_[z]) known_.pop_back();
            continue;
        }
        p.each_piece(interval, [&](int k) {
            if (class_of[k] >= 0) out.listed.push_back(class_of[k]);
        });
        const auto list = out.listed.begin() + begin;
        std::sort(list, out.listed.end());
        out.listed.erase(std::unique(list, out.listed.end()), out.listed.end());
        const int size = static_cast<int>(out.listed.end() - list);
        if (size == classes_[z]) {
            out.listed.resize(begin);
            continue;
        }
        new_interval_[i] = static_cast<int>(out.intervals.size());
        out.intervals.push_back({local_[interval.link], static_cast<int>(begin), -size});
    }
    std::ranges::sort(known_);
    for (std::size_t k = 0; k < known_.size(); ++k) {
        const auto& [link, from, to, old] = known_[k];
        const bool same = k > 0 && std::equal(known_[k].begin(), known_[k].begin() + 3, known_[k - 1].begin());
        if (!same) out.intervals.push_back({link, from, to});
        new_interval_[old] = static_cast<int>(out.intervals.size()) - 1;
    }
}

/// Add a factor that depends on one variable to the gains of its states.
void Shrinking::fold(const Problem& p, int f, int z, Problem& out) {
    const Link& link = p.links[z];
    const int at = p.state_start[link.variable];
    best_.assign(static_cast<std::size_t>(classes_[z]) * rows_, -4.0 * q_.target.scale);  // where it has no leaf left
    keys_.assign(classes_[z], 0);
    for (int l = p.leaf_start[f]; l < p.leaf_start[f + 1]; ++l) {
        if (!alive_[l]) continue;
        const auto take = [&](int now) {
            for (int r = 0; r < rows_; ++r) best_[now * rows_ + r] = p.leaf_gain[static_cast<std::size_t>(l) * rows_ + r];
            keys_[now] = p.leaf_key[l];
        };
        bool everywhere = true;
        for (int e = p.entry_start[l]; e < p.entry_start[l + 1]; ++e) {
            if (p.link_of(f, p.entries[e]) != z) continue;
            everywhere = false;
            p.each_piece(p.intervals[p.entries[e]], [&](int k) {
                if (class_of_[link.message + k] >= 0) take(class_of_[link.message + k]);
            });
        }
        for (int now = 0; now < classes_[z] && everywhere; ++now) take(now);
    }
    added_.assign(out.states(), 0);
    for (int i = link.run; i < p.links[z + 1].run; ++i) {
        const int now = class_of_[link.message + p.run_piece[i]];
        for (int s = at + p.run_state[i]; s < at + p.run_end(z, i); ++s) {
            if (new_state_[s] < 0 || added_[new_state_[s]]) continue;
            added_[new_state_[s]] = 1;
            out.key[new_state_[s]] = out.key[new_state_[s]] * 0x9E3779B97F4A7C15ULL + keys_[now];
            for (int r = 0; r < rows_; ++r)
                out.gain[static_cast<std::size_t>(new_state_[s]) * rows_ + r] +=
                    best_[static_cast<std::size_t>(now) * rows_ + r];
        }
    }
}

}  // namespace counterleaf::ensemble
