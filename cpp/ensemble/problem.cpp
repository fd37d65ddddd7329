#include "ensemble/problem.hpp"

#include <map>
#include <tuple>
#include <utility>

#include "ensemble/partition.hpp"

namespace counterleaf::ensemble {
namespace {

/// The cells of one coordinate in which a leaf lies: low .. high, or for a group the cells of a subset that begins at ``low``.
struct RawEntry {
    int coordinate, low, high;
};

struct RawLeaf {
    int node;
    std::size_t first, last;  // entries
};

class Builder {
public:
    Builder(const Question& question, double cutoff)
        : q_(question), forest_(question.forest), cutoff_(cutoff), size_(forest_.coordinates()) {}

    std::optional<Problem> run() {
        if (!choose_cells()) return {};
        for (int t = 0; t < forest_.trees(); ++t) {
            const std::size_t before = leaves_.size();
            descend(forest_.root[t], 0.0);
            if (leaves_.size() == before) return {};
            tree_end_.push_back(leaves_.size());
        }
        make_states();
        std::size_t begin = 0;
        for (int t = 0; t < forest_.trees(); ++t) {
            add_factor(t, begin, tree_end_[t]);
            begin = tree_end_[t];
        }
        out_.link_start.push_back(static_cast<int>(out_.links.size()));
        out_.leaf_start.push_back(static_cast<int>(out_.entry_start.size()));
        out_.interval_start.push_back(static_cast<int>(out_.intervals.size()));
        out_.entry_start.push_back(static_cast<int>(out_.entries.size()));
        out_.links.push_back({-1, 0, static_cast<int>(out_.message.size()), static_cast<int>(out_.run_state.size())});
        return std::move(out_);
    }

private:
    /// Find the cheapest cells, and the cells that leave a row cheaper than the cutoff.
    bool choose_cells() {
        out_.fixed.assign(size_, -1);
        out_.bias = q_.target.bias;
        for (const ChangeLimit& limit : q_.limits) out_.left.push_back(limit.most);
        for (int j = 0; j < size_; ++j) {
            cheapest_.push_back(q_.cheapest(j));
            out_.base += q_.cost_at(j, cheapest_[j]);
        }
        if (!(out_.base < cutoff_)) return false;
        open_.assign(forest_.cells(), 0);
        next_.assign(forest_.cells(), -1);
        before_.assign(forest_.cells(), -1);
        for (int j = 0; j < size_; ++j) {
            const int at = forest_.first_cell[j], n = forest_.count(j);
            const double others = out_.base - q_.cost_at(j, cheapest_[j]);
            for (int k = 0; k < n; ++k) open_[at + k] = others + q_.cost_at(j, k) < cutoff_ || k == cheapest_[j];
            for (int k = 0, last = -1; k < n; ++k) before_[at + k] = last = open_[at + k] ? k : last;
            for (int k = n - 1, last = -1; k >= 0; --k) next_[at + k] = last = open_[at + k] ? k : last;
            low_.push_back(next_[at]);
            high_.push_back(before_[at + n - 1]);
            allowed_.emplace_back();
            if (forest_.grouped[j]) allowed_[j].assign(open_.begin() + at, open_.begin() + at + n);
        }
        touched_.assign(size_, 0);
        return true;
    }

    /// The least cost of a coordinate on the path.
    double least(int j) const {
        if (forest_.grouped[j]) {
            double out = INF;
            for (std::size_t k = 0; k < allowed_[j].size(); ++k)
                if (allowed_[j][k]) out = std::min(out, q_.cost_at(j, static_cast<int>(k)));
            return out;
        }
        const int at = forest_.first_cell[j];
        int cell = cheapest_[j];
        if (low_[j] > cell) cell = next_[at + low_[j]];
        if (high_[j] < cell) cell = before_[at + high_[j]];
        return cell >= low_[j] && cell <= high_[j] ? q_.cost_at(j, cell) : INF;
    }

    void descend(int node, double extra) {
        if (!(out_.base + extra < cutoff_)) return;
        const Node& here = forest_.nodes[node];
        if (here.coordinate < 0) {
            if (!q_.target.is_closed(node)) add_leaf(node);
            return;
        }
        const int j = here.coordinate;
        const double before = least(j);
        path_.push_back(j);
        if (forest_.grouped[j]) {
            const std::vector<std::uint8_t> all = allowed_[j];
            const std::uint8_t* right = &forest_.subset[forest_.subset_start[here.cut]];
            for (const bool side : {false, true}) {
                bool some = false;
                for (std::size_t k = 0; k < all.size(); ++k) {
                    allowed_[j][k] = all[k] != 0 && (right[k] != 0) == side;
                    some |= allowed_[j][k] != 0;
                }
                if (some) descend(side ? here.right : here.left, extra + (least(j) - before));
            }
            allowed_[j] = all;
        } else {
            const int low = low_[j], high = high_[j];
            if (low <= here.cut) {
                high_[j] = std::min(high, here.cut);
                descend(here.left, extra + (least(j) - before));
                high_[j] = high;
            }
            if (high > here.cut) {
                low_[j] = std::max(low, here.cut + 1);
                descend(here.right, extra + (least(j) - before));
                low_[j] = low;
            }
        }
        path_.pop_back();
    }

    void add_leaf(int node) {
        const std::size_t first = raw_.size();
        for (const int j : path_) {
            if (std::exchange(touched_[j], 1)) continue;
            if (forest_.grouped[j]) {
                raw_.push_back({j, static_cast<int>(subsets_.size()), 0});
                subsets_.insert(subsets_.end(), allowed_[j].begin(), allowed_[j].end());
            } else {
                raw_.push_back({j, low_[j], high_[j]});
            }
        }
        for (const int j : path_) touched_[j] = 0;
        leaves_.push_back({node, first, raw_.size()});
    }

    /// Merge the cells that neither a leaf nor a limit on changes tells apart into states.
    void make_states() {
        std::vector<Partition> cuts(size_);
        for (int j = 0; j < size_; ++j) cuts[j].start(forest_.count(j), !forest_.grouped[j]);
        for (const RawEntry& entry : raw_) {
            if (forest_.grouped[entry.coordinate]) {
                cuts[entry.coordinate].cut([&](auto inside) { each_cell(entry, inside); });
            } else {
                cuts[entry.coordinate].cut_interval(entry.low, entry.high);
            }
        }
        state_.resize(size_);
        index_.assign(size_, -1);
        out_.state_start.push_back(0);
        out_.state_of.assign(forest_.cells(), -2);
        for (int j = 0; j < size_; ++j) {
            const int at = forest_.first_cell[j], n = forest_.count(j);
            for (int k = 0; k < n; ++k)
                if (!q_.may_replace(j, cheapest_[j], k)) cuts[j].cut_interval(k, k);
            const int count = cuts[j].finish(state_[j], [&](int k) { return open_[at + k] != 0; });
            if (count == 1) out_.fixed[j] = cheapest_[j];
            const int first = out_.states();
            for (int k = 0; k < n; ++k)
                if (state_[j][k] >= 0) out_.state_of[at + k] = count == 1 ? -1 : first + state_[j][k];
            if (count == 1) {
                for (std::size_t i = 0; i < q_.limits.size(); ++i)
                    out_.left[i] -= q_.limits[i].members[j] != 0 && q_.moves(j, cheapest_[j]);
                continue;
            }
            index_[j] = out_.variables();
            out_.coordinate.push_back(j);
            out_.cell.resize(first + count, -1);
            for (int k = 0; k < n; ++k) {
                if (state_[j][k] < 0) continue;
                int& best = out_.cell[first + state_[j][k]];
                if (best < 0 || q_.is_better(j, k, best)) best = k;
            }
            for (int s = first; s < first + count; ++s) {
                out_.cost.push_back(q_.cost_at(j, out_.cell[s]) - q_.cost_at(j, cheapest_[j]));
                out_.moved.push_back(q_.moves(j, out_.cell[s]));
            }
            out_.state_start.push_back(out_.states());
        }
        out_.gain.assign(static_cast<std::size_t>(out_.states()) * q_.target.rows, 0.0);
        out_.key.assign(out_.states(), 0);
    }

    template <class Visit>
    void each_cell(const RawEntry& entry, Visit visit) const {
        for (int k = 0; k < forest_.count(entry.coordinate); ++k)
            if (subsets_[entry.low + k]) visit(k);
    }
    /// The states of a number in which an entry lies.
    std::pair<int, int> states_of(const RawEntry& entry) const {
        const int at = forest_.first_cell[entry.coordinate];
        return {state_[entry.coordinate][next_[at + entry.low]], state_[entry.coordinate][before_[at + entry.high]]};
    }

    void add_factor(int tree, std::size_t begin, std::size_t end) {
        std::vector<int> scope, place(size_, -1);
        for (std::size_t e = leaves_[begin].first; e < leaves_[end - 1].last; ++e) {
            const int j = raw_[e].coordinate;
            if (index_[j] < 0 || place[j] >= 0) continue;
            place[j] = static_cast<int>(scope.size());
            scope.push_back(j);
        }
        const int rows = q_.target.rows;
        if (scope.empty()) {
            for (int r = 0; r < rows; ++r) out_.bias[r] += q_.target.of(leaves_[begin].node, r);
            return;
        }
        out_.tree.push_back(tree);
        out_.link_start.push_back(static_cast<int>(out_.links.size()));
        out_.leaf_start.push_back(static_cast<int>(out_.entry_start.size()));
        out_.interval_start.push_back(static_cast<int>(out_.intervals.size()));
        add_links(scope, place, leaves_[begin].first, leaves_[end - 1].last);
        known_.clear();
        for (std::size_t l = begin; l < end; ++l) {
            for (int r = 0; r < rows; ++r) out_.leaf_gain.push_back(q_.target.of(leaves_[l].node, r));
            out_.leaf_key.push_back(forest_.key[leaves_[l].node]);
            out_.entry_start.push_back(static_cast<int>(out_.entries.size()));
            for (std::size_t e = leaves_[l].first; e < leaves_[l].last; ++e)
                if (place[raw_[e].coordinate] >= 0) add_entry(raw_[e], place[raw_[e].coordinate]);
        }
    }

    void add_links(const std::vector<int>& scope, const std::vector<int>& place, std::size_t first, std::size_t last) {
        if (partitions_.size() < scope.size()) partitions_.resize(scope.size());
        piece_.resize(scope.size());
        for (std::size_t z = 0; z < scope.size(); ++z)
            partitions_[z].start(out_.states_of(index_[scope[z]]), !forest_.grouped[scope[z]]);
        for (std::size_t e = first; e < last; ++e) {
            const int j = raw_[e].coordinate;
            if (place[j] < 0) continue;
            if (forest_.grouped[j]) {
                partitions_[place[j]].cut([&](auto inside) { each_cell(raw_[e], [&](int k) { inside(state_[j][k]); }); });
            } else {
                const auto [from, to] = states_of(raw_[e]);
                partitions_[place[j]].cut_interval(from, to);
            }
        }
        for (std::size_t z = 0; z < scope.size(); ++z) {
            const int pieces = partitions_[z].finish(piece_[z], [](int) { return true; });
            out_.links.push_back(
                {index_[scope[z]], pieces, static_cast<int>(out_.message.size()), static_cast<int>(out_.run_state.size())});
            out_.message.resize(out_.message.size() + pieces, 0.0);
            for (std::size_t s = 0; s < piece_[z].size(); ++s) {
                if (s > 0 && piece_[z][s] == piece_[z][s - 1]) continue;
                out_.run_state.push_back(static_cast<int>(s));
                out_.run_piece.push_back(piece_[z][s]);
            }
        }
    }

    void add_entry(const RawEntry& entry, int link) {
        const int j = entry.coordinate, id = static_cast<int>(out_.intervals.size());
        if (!forest_.grouped[j]) {
            const auto [from, to] = states_of(entry);
            const Interval interval{link, piece_[link][from], piece_[link][to]};
            const auto known = known_.try_emplace({link, interval.first, interval.last}, id);
            if (known.second) out_.intervals.push_back(interval);
            out_.entries.push_back(known.first->second);
            return;
        }
        const int first = static_cast<int>(out_.listed.size());
        each_cell(entry, [&](int k) { out_.listed.push_back(piece_[link][state_[j][k]]); });
        std::sort(out_.listed.begin() + first, out_.listed.end());
        out_.listed.erase(std::unique(out_.listed.begin() + first, out_.listed.end()), out_.listed.end());
        out_.intervals.push_back({link, first, first - static_cast<int>(out_.listed.size())});
        out_.entries.push_back(id);
    }

    const Question& q_;
    const Forest& forest_;
    const double cutoff_;
    const int size_;
    Problem out_;
    std::vector<int> cheapest_, next_, before_, low_, high_, path_, index_;
    std::vector<std::uint8_t> open_, subsets_;
    std::vector<std::vector<std::uint8_t>> allowed_;
    std::vector<int> touched_;
    std::vector<RawEntry> raw_;
    std::vector<RawLeaf> leaves_;
    std::vector<std::size_t> tree_end_;
    std::vector<std::vector<int>> state_, piece_;  // the state of each cell of a coordinate; the piece of each state of a link
    std::vector<Partition> partitions_;
    std::map<std::tuple<int, int, int>, int> known_;  // intervals of the factor: link, first and last piece
};

}  // namespace

std::optional<Problem> build(const Question& question, double cutoff) { return Builder(question, cutoff).run(); }

}  // namespace counterleaf::ensemble
