// The part of the search that handles leaves: it turns the point of a leaf into a row, or forks the leaf.
#include <cmath>

#include "bound/ascent.hpp"
#include "bound/lattice.hpp"
#include "rows/neighbours.hpp"
#include "rows/realise.hpp"
#include "rows/routing.hpp"
#include "rows/row_cost.hpp"
#include "rows/tolerance.hpp"
#include "search/search.hpp"

namespace counterleaf {
namespace {

constexpr int ATTEMPTS = 30;  // doublings of a slack, starting at rounding; a leaf without a row by then is thinner than 1e-9
constexpr double TIGHT = 1e-10;  // a row that costs its bound within this share is the best of its state

}  // namespace

/// Find a row for a leaf and queue it at its cost, fork the leaf, or give it up; returns false if the cost is unbounded.
bool Search::realise(int state, StopCheck& stop_check) {
    if (runs_away(state)) return false;
    collect(state);
    State& entry = memory.states[state];
    if (!question_->plain) mark_counted_and_named(state);
    const Forks forks(*question_, box_, counted_, named_);
    std::optional<Choice> choice;
    const bool at_home = is_at_home(state);
    Found found = at_home ? Found::Row : Found::Nothing;
    if (at_home && question_->method != Method::Coupled) {  // no change has a negative cost, so the box proves the bound
        std::ranges::fill(memory.multipliers[state], 0.0);
        entry.bound = below(entry.node), entry.proof = Proof::Sure;
    }
    if (!at_home && entry.bound <= below(entry.node) && finds_free_row(state, forks, stop_check)) {
        accept_row(state, below(entry.node));
        return true;
    }
    if (!at_home && (entry.exact || !question_->plain)) {
        place(*question_, memory.changes[state], box_, false, x_);
        if (!question_->plain) choice = forks.at_point(memory.changes[state], x_);
        if (!choice) found = find_row(state, forks, stop_check, memory.changes[state]);
        if (choice && choice->parting == Parting::Count && finds_row_with_few_changes(state, forks, stop_check))
            found = Found::Row, choice.reset();
    }
    if (found == Found::Row) {
        const double cost = cost_of(*question_, x_) + below(entry.node);
        const bool tight = at_home || is_best(state, cost - below(entry.node));
        if (!tight && !question_->plain) choice = forks.any(x_);
        if (!choice) {
            accept_row(state, cost);
            return true;
        }
    } else if (!choice) {
        if (!question_->plain) choice = forks.any(x_);
        if (!choice) {
            if (found == Found::Empty) {
                std::ranges::copy(trial_.multipliers, memory.multipliers[state].begin());
                discard(state);
            } else {
                entry.kind = Kind::Unsettled;
                ++memory.unsettled;
            }
            return true;
        }
    }
    std::ranges::fill(memory.slacks[state], 0.0);
    if (is_indivisible(state, choice)) return true;
    fork(state, *choice);
    return true;
}

/// Discard a state that divisibility leaves without rows. If only a source off its grid prevents that, set the choice to one
/// that separates it.
bool Search::is_indivisible(int state, std::optional<Choice>& choice) {
    std::vector<double> numerators(question_->user_rows(), 0.0);
    const Divisibility found = divide(*question_, box_, numerators);
    if (found.off_grid >= 0) {
        const Step& step = question_->layout.step[found.off_grid];
        const double source = question_->features.source[found.off_grid];
        choice = Choice{Parting::Cut, found.off_grid, source, step.after(source, source)};
        if (source > box_.lower(found.off_grid)) choice->low = step.before(source, source), choice->high = source;
    }
    if (found.denominator == 0.0) return false;
    State& entry = memory.states[state];
    entry.kind = Kind::Discarded, entry.lattice = found.denominator;
    entry.proof = Proof::Doubtful;  // exact only up to rounding; the check decides whether it holds for wider rows
    std::ranges::fill(memory.multipliers[state], 0.0);
    std::ranges::copy(numerators, memory.multipliers[state].begin());
    return true;
}

/// Mark the features that are counted on the way to a leaf, and the variables that appear in its rows or clauses.
void Search::mark_counted_and_named(int state) {
    const Layout& layout = question_->layout;
    counted_.assign(layout.feature.size(), false);
    named_.assign(layout.feature.size(), false);
    for (int at = state; at >= 0; at = memory.states[at].parent)
        if (memory.states[at].parting == Parting::Count) counted_[memory.states[at].what] = true;
    const auto name = [&](int v) {
        const int g = layout.group[v];
        if (g < 0) named_[v] = true;
        for (int k = g < 0 ? 0 : layout.first[g]; g >= 0 && k < layout.last[g]; ++k) named_[k] = true;
    };
    for (int row : path_.row)
        for (int v : question_->row(row).columns) name(v);
    for (const Interval& entry : question_->entries) name(entry.variable);
}

/// Whether the cost is unbounded in a leaf; ``runaway`` is then the variable.
bool Search::runs_away(int state) {
    if (memory.states[state].bound > -INF) return false;
    const Features& f = question_->features;
    for (std::size_t d = 0; d < f.width(); ++d)
        if (f.price(d, memory.changes[state][d]) == -INF) {
            runaway = static_cast<int>(d);
            return true;
        }
    return false;
}

/// Whether the source is a row of the leaf; ``x_`` is then the source.
bool Search::is_at_home(int state) {
    if (memory.states[state].node != question_->home) return false;
    std::ranges::copy(question_->features.source, x_.begin());
    for (std::size_t d = 0; d < x_.size(); ++d)  // a margin may have moved the cuts past the source
        if (!(box_.lower(d) <= x_[d] && x_[d] <= box_.upper(d))) return false;
    return is_routed(*question_, x_, path_);
}

/// For a leaf whose point changes too many features: whether the best row that changes only the most promising ones costs no
/// more than the bound. ``x_`` is then that row.
bool Search::finds_row_with_few_changes(int state, const Forks& forks, StopCheck& stop_check) {
    const State& entry = memory.states[state];
    const Features& f = question_->features;
    const std::size_t mark = box_.mark();
    const Numbers lam = memory.multipliers[state].first(entry.rows);
    const std::vector<char> chosen = most_promising(*question_, path_, box_, lam, memory.changes[state]);
    for (std::size_t v = 0; v < f.width(); ++v)
        if (!chosen[question_->layout.feature[v]]) box_.narrow(v, f.source[v], f.source[v]);
    const bool found = question_->method != Method::Coupled && finds_row_inside(state, mark, forks, stop_check) &&
                       is_best(state, cost_of(*question_, x_));
    box_.undo(mark);
    return found;
}

/// For a leaf whose bound is 0, under a cost with free changes: whether some row of it changes nothing else. ``x_`` is then
/// that row, and the box proves its bound.
bool Search::finds_free_row(int state, const Forks& forks, StopCheck& stop_check) {
    if (!has_free_) return false;
    const Features& f = question_->features;
    const std::size_t mark = box_.mark();
    for (std::size_t v = 0; v < f.width(); ++v)
        box_.narrow(v, is_free(v, Side::Left) ? -INF : f.source[v], is_free(v, Side::Right) ? INF : f.source[v]);
    const bool found = finds_row_inside(state, mark, forks, stop_check) && cost_of(*question_, x_) == 0.0;
    box_.undo(mark);
    if (!found) return false;
    std::ranges::fill(memory.multipliers[state], 0.0);
    if (question_->method == Method::Coupled) std::ranges::fill(memory.tangents[state], 0.0);
    memory.states[state].bound = below(memory.states[state].node), memory.states[state].proof = Proof::Sure;
    return true;
}

/// Whether number v may move to a side at no cost.
bool Search::is_free(std::size_t v, Side side) const {
    const Features& f = question_->features;
    const bool up = side == Side::Right,
               flat = up ? f.slope_up[v] == 0.0 && f.curve_up[v] == 0.0 : f.slope_down[v] == 0.0 && f.curve_down[v] == 0.0;
    if (!flat || !question_->layout.is_number(v) || question_->charge(question_->layout.feature[v]) > 0.0) return false;
    if (question_->coupling == nullptr) return true;
    const Sparse& Q = question_->coupling->matrix;
    return std::all_of(Q.values.begin() + Q.start[v], Q.values.begin() + Q.start[v + 1], [](double q) { return q == 0.0; });
}

/// Whether the leaf of a state has a row in the box, which was narrowed since a mark. ``x_`` is then that row.
bool Search::finds_row_inside(int state, std::size_t mark, const Forks& forks, StopCheck& stop_check) {
    if (question_->method == Method::Box || !box_.propagate(mark)) return false;
    start_trial(state);
    if (solve_tightened(nothing_, stop_check) != Status::Converged) return false;
    const std::vector<double> change = trial_.change;
    place(*question_, change, box_, false, x_);
    return !forks.at_point(change, x_) && find_row(state, forks, stop_check, change) == Found::Row;
}

/// Write to ``x_`` a row that the model sends to the leaf of a state: the point ``change``, or the point of the region with the
/// missed faces moved inwards or, if the leaf has no room for that, a row next to the point. The choices are those of ``x_``.
Search::Found Search::find_row(int state, const Forks& forks, StopCheck& stop_check, Constants change) {
    const std::size_t mark = box_.mark();
    if (!question_->plain) forks.fix(x_, box_);
    has_other_ = false;
    Found found = move_inwards(state, stop_check, change);
    const bool thin = found != Found::Row || !is_best(state, cost_of(*question_, x_));
    if (thin && question_->method != Method::Box && take_better(state, found == Found::Row)) found = Found::Row;
    box_.undo(mark);
    return found;
}

/// Move the faces inwards until the point of the region is a row that passes every split in any order of summation.
Search::Found Search::move_inwards(int state, StopCheck& stop_check, Constants change) {
    const State& entry = memory.states[state];
    const Numbers slack = memory.slacks[state].first(entry.rows);
    // only where splits are sums of float32; user rows may need more digits
    const bool coarse = question_->plain && question_->tree.narrow && entry.rows > 0 && question_->user_rows() == 0;
    for (int attempt = 0; attempt < ATTEMPTS; ++attempt) {
        if (attempt > 0) {
            if (question_->method == Method::Box || stop_check.is_due()) break;
            if (attempt == 1) start_trial(state);
            const Status status = solve_tightened(slack, stop_check);
            if (status == Status::Infeasible) return Found::Empty;
            if (status == Status::Stuck) {  // empty up to rounding: move further inwards
                if (question_->method == Method::Coupled) break;
                for (double& by : slack) by *= 2.0;
                continue;
            }
            change = trial_.change;
        }
        place(*question_, change, box_, coarse, x_);
        if (attempt == 0) centre_ = x_;
        if (attempt == 0 && !coarse && is_tidy(*question_, path_, box_, x_) && obeys(*question_, x_) &&
            is_best(state, cost_of(*question_, x_)))
            return Found::Row;
        if (attempt == 0) x_ = centre_;
        if (attempt == 0 && push(*question_, path_, box_, coarse, x_, scratch_) && obeys(*question_, x_)) return Found::Row;
        if (attempt == 0) x_ = centre_;
        const bool holds = obeys(*question_, x_) || (attempt > 0 && mend(*question_, box_, x_, scratch_));
        const Routed way = routed(*question_, x_, path_, slack);
        if (way == Routed::Safely && holds) return Found::Row;
        if (way == Routed::Safely && attempt > 0) break;
        if (way == Routed::Barely && holds && !has_other_) other_ = x_, has_other_ = true;
    }
    return Found::Nothing;
}

/// Write to ``x_`` the cheapest row that the model sends to the leaf: the row that was found, if any, one that was seen on the
/// way, or one next to the point of the region. Returns false if there is none.
bool Search::take_better(int state, bool has_row) {
    double least = has_row ? cost_of(*question_, x_) : INF;
    const auto take = [&](const std::vector<double>& row) {
        const double cost = cost_of(*question_, row);
        if (cost < least) least = cost, x_ = row;
    };
    if (has_other_) take(other_);
    if (least < INF && is_best(state, least)) return true;
    if (is_close(*question_, centre_, path_) && find_neighbour(*question_, path_, box_, centre_, other_)) take(other_);
    return least < INF;
}

/// Start a trial from the multipliers, basis and pieces of a state.
void Search::start_trial(int state) {
    const auto copy = [&](const auto& lines, auto& to) { to.assign(lines[state].begin(), lines[state].end()); };
    const auto lam = memory.multipliers[state].first(memory.states[state].rows);
    trial_.multipliers.assign(lam.begin(), lam.end());
    copy(memory.changes, trial_.change);
    if (question_->method == Method::Flat) copy(memory.basis, trial_.basis), copy(memory.seats, trial_.seats);
    if (question_->method == Method::Coupled) copy(memory.tangents, trial_.tangent), copy(memory.pieces, trial_.pieces);
}

/// Whether the row ``x_`` is as good as the bound of the leaf; ``cost`` does not include the class cost.
bool Search::is_best(int state, double cost) const {
    const State& entry = memory.states[state];
    const double gap = cost + below(entry.node) - entry.bound;
    return gap <= TIGHT * std::fabs(cost) || gap <= allowed_of(state, x_);
}

/// How much the row x of a leaf may cost above the bound of the leaf.
double Search::allowed_of(int state, Constants x) const {
    return allowed(*question_, path_, box_, x, below(memory.states[state].node));
}

/// Solve the region of a leaf with tightened rows in ``trial_``, starting from its last solution.
Status Search::solve_tightened(Constants slack, StopCheck& stop_check) {
    if (question_->method != Method::Coupled)
        return regions_
            .solve(path_, box_, slack, {trial_.multipliers, trial_.basis, trial_.seats}, trial_.change, scratch_, stop_check)
            .status;
    const CoupledDual dual{trial_.multipliers, trial_.tangent, trial_.pieces, trial_.change};
    switch (coupled_.solve(path_, box_, slack, {}, dual, regions_, scratch_, stop_check).status) {
        case QuadraticStatus::Converged:
            return Status::Converged;
        case QuadraticStatus::Infeasible:
            return Status::Infeasible;
        default:
            return Status::Stuck;
    }
}

/// Whether a leaf already has a row that costs no more than the bound of this state; that row then comes before other states of
/// the leaf.
bool Search::is_matched(const State& entry) const {
    if (question_->plain) return false;
    const Cheapest& row = row_of_[entry.node];
    return entry.bound >= row.cost - row.rounding;
}

/// Queue a leaf at the cost of its row ``x_``.
void Search::accept_row(int state, double cost) {
    State& entry = memory.states[state];
    const double gap = cost - entry.bound;
    memory.points.hold(memory.realised + 1);
    std::ranges::copy(x_, memory.points[memory.realised].begin());
    entry.point = static_cast<int>(memory.realised++);
    entry.cost = cost;
    entry.allowed = TIGHT * std::fabs(cost - below(entry.node));  // the minimum if there are multipliers
    const Numbers lam = memory.multipliers[state].first(entry.rows);
    const bool none = std::ranges::all_of(lam, [](double one) { return one == 0.0; });
    if (none || gap > entry.allowed) entry.allowed = allowed_of(state, x_);
    if (question_->plain && !none && question_->coupling == nullptr && gap > 0.0)
        entry.thin = is_thin(*question_, path_, box_, lam, x_);
    const bool alone = question_->method == Method::Box || (entry.rows == 0 && question_->coupling == nullptr);
    if (cost < entry.bound || (alone && gap <= TIGHT * std::fabs(cost))) entry.bound = cost;  // the same sum in another order
    if (!question_->plain && cost < row_of_[entry.node].cost)
        row_of_[entry.node] = {cost, none ? 0.0 : TIGHT * std::fabs(cost)};
    double key = cost;
    int rank = Queued::rank_of_row(entry.node);
    if (question_->method == Method::Coupled && gap <= 1e-13 * length(*question_, x_))
        key = entry.bound - 1e-14 * std::fabs(entry.bound),
        rank = Queued::FIRST;  // a leaf whose row meets its bound does not wait for its equals
    queue(state, Kind::Realised, key, rank);
}

}  // namespace counterleaf
