#include "search/search.hpp"

#include <cmath>

namespace counterleaf {
namespace {

constexpr double TIE = 1e-14;    // bounds closer than this share are equal: both are realised before either is an answer
constexpr double EQUAL = 1e-11;  // relative to a bound: an estimate must exceed a proved bound by more than this to replace it
constexpr int FEW = 8;           // nodes with fewer target leaves are not worth an expensive bound
constexpr int PUT_OFF = 20;      // how often a state may be postponed before it is solved completely

/// A bound minus its rounding, so that states with equal bounds come before rows.
double just_below(double bound) { return bound > -INF ? bound - TIE * std::fabs(bound) : bound; }

}  // namespace

Search::Search(std::size_t width, std::size_t max_rows, std::size_t groups) : memory(width, max_rows, groups) {}

void Search::prepare(const Question& question) {
    question_ = &question;
    const Features& f = question.features;
    const std::size_t max_rows = question.user_rows() + question.tree.depth;
    if (memory.max_rows() != max_rows) memory = Memory(f.width(), max_rows, question.layout.groups());
    x_.resize(f.width());
    compliance_.resize(f.width());
    nothing_.assign(max_rows, 0.0);
    saved_.resize(max_rows);
    answered_.assign(question.tree.nodes.size(), false);
    row_of_.assign(question.plain ? 0 : question.tree.nodes.size(), {});
    regions_.begin(question, max_rows);
    has_free_ = false;
    if (question.method != Method::Box) {
        bool earns = false;
        for (std::size_t d = 0; d < f.width() && !earns; ++d) {
            const int g = question.layout.group[d];
            earns =
                g >= 0 ? f.slope_up[d] < f.slope_up[question.source_choice[g]] : f.slope_up[d] < 0.0 || f.slope_down[d] > 0.0;
            has_free_ = has_free_ || is_free(d, Side::Left) || is_free(d, Side::Right);
        }
        has_free_ = has_free_ && !earns;
    }
    if (question.coupling != nullptr) coupled_.begin(question);
    if (question.method != Method::Curved) return;
    for (std::size_t d = 0; d < f.width(); ++d) {
        const bool up = f.upper[d] > f.source[d], down = f.lower[d] < f.source[d];
        const double curve = std::min(up ? f.curve_up[d] : INF, down ? f.curve_down[d] : INF);
        const int g = question.layout.group[d];
        compliance_[d] = g >= 0 ? 1.0 / question.soft[g] : up || down ? 1.0 / curve : 0.0;
    }
}

Ending Search::run(const Question& question, const Budget& budget, StopCheck& stop_check) {
    prepare(question);
    memory.clear(question);
    in_doubt = false;
    if (below(0) == INF) return Ending::Done;
    begin();
    return go_on(budget, stop_check);
}

Ending Search::resume(const Memory& earlier, const Question& question, const Budget& budget, StopCheck& stop_check) {
    if (earlier.method != question.method) return run(question, budget, stop_check);
    memory = Memory(earlier);
    prepare(question);
    memory.restart();
    in_doubt = false;
    if (below(0) == INF) return Ending::Done;
    if (!box_.begin(question)) return Ending::Done;
    for (std::size_t s = 0; s < memory.states.size(); ++s) {
        State& state = memory.states[s];
        if (state.kind == Kind::Expanded || state.kind == Kind::Forked || state.kind == Kind::Discarded) continue;
        state.exact = false, state.visits = 0, state.point = -1, state.cost = INF;
        std::ranges::fill(memory.slacks[s], 0.0);
        queue_by_bound(static_cast<int>(s), Kind::Fresh);
    }
    return go_on(budget, stop_check);
}

Ending Search::go_on(const Budget& budget, StopCheck& stop_check) {
    in_doubt = false;
    while (!memory.is_empty() && memory.answers.size() < budget.answers) {
        const int state = memory.first().state;
        State& entry = memory.states[state];
        const bool leaf = node_of(state).is_leaf();
        if (leaf && answered_[entry.node]) {
            memory.pop();
            entry.kind = Kind::Passed;
            continue;
        }
        if (entry.kind == Kind::Realised) {
            memory.pop();
            entry.kind = Kind::Answered;
            answered_[entry.node] = true;
            memory.answers.push_back(state);
            continue;
        }
        if (leaf && is_matched(entry) && memory.first().key < row_of_[entry.node].cost) {
            memory.pop();
            queue(state, entry.kind, row_of_[entry.node].cost, Queued::rank_of_bound(entry.node));
            continue;
        }
        if (memory.taken >= budget.nodes || stop_check.is_due()) return Ending::Stopped;
        ++memory.taken;
        memory.pop();
        if (!enter(state)) {
            discard_by_box(state);
        } else if (entry.kind == Kind::Fresh && is_worth_bounding(entry.node)) {
            bound(state, stop_check);
        } else if (!leaf) {
            expand(state);
        } else if (!realise(state, stop_check)) {
            return Ending::Unbounded;
        }
    }
    in_doubt = is_in_doubt(budget.answers);
    return Ending::Done;
}

/// Create the root, with a bound from no multipliers.
void Search::begin() {
    const int root = make({.rows = static_cast<int>(question_->user_rows())}, -1);
    State& entry = memory.states[root];
    if (!box_.begin(*question_) || !enter(root)) return discard_by_box(root);
    std::optional<Choice> unused;
    if (is_indivisible(root, unused)) return;
    if (regions_.is_source_best()) {
        entry.bound = below(0);
        std::ranges::fill(memory.changes[root], 0.0);
    } else {
        entry.bound = lifted(box_bound(*question_, box_, memory.changes[root])) + below(0);
    }
    entry.exact = question_->method == Method::Box;
    if (question_->method == Method::Coupled) std::ranges::fill(memory.changes[root], 0.0);
    queue_by_bound(root, entry.exact ? Kind::Open : Kind::Fresh);
}

/// Create a state that starts from the multipliers, basis and pieces of the state ``like`` (-1: from nothing).
int Search::make(State state, int like) {
    const int made = memory.add(state);
    const std::size_t known = like >= 0 ? memory.states[like].rows : 0;
    const auto copy = [&](auto& lines, std::size_t count) { std::ranges::copy(lines[like].first(count), lines[made].begin()); };
    if (like >= 0) copy(memory.multipliers, known);
    std::ranges::fill(memory.multipliers[made].subspan(known), 0.0);
    std::ranges::fill(memory.slacks[made], 0.0);
    const Features& f = question_->features;
    if (question_->method == Method::Flat) {
        const std::span<Basic> basis = memory.basis[made];
        for (std::size_t t = 0; t < basis.size(); ++t)
            basis[t] = like >= 0 && (t < known || t >= memory.max_rows()) ? memory.basis[like][t] : Basic{static_cast<int>(t)};
        if (like >= 0) {
            copy(memory.seats, f.width());
        } else {
            for (std::size_t d = 0; d < f.width(); ++d)
                memory.seats[made][d] = f.slope_up[d] < 0.0 ? Seat::Upper : f.slope_down[d] > 0.0 ? Seat::Lower : Seat::Kink;
        }
    }
    if (question_->method == Method::Coupled) {
        if (like >= 0) {
            copy(memory.pieces, f.width());
            copy(memory.tangents, f.width());
            copy(memory.changes, f.width());
        } else {  // pivoting soon finds those that are not free
            std::ranges::fill(memory.pieces[made], Piece::Up);
            std::ranges::fill(memory.tangents[made], 0.0);
        }
    }
    return made;
}

Dual Search::dual_of(int state) const {
    Dual dual{memory.multipliers[state].first(memory.states[state].rows), {}, {}};
    if (question_->method == Method::Flat) dual.basis = memory.basis[state], dual.seats = memory.seats[state];
    return dual;
}

CoupledDual Search::coupled_dual_of(int state) const {
    return {memory.multipliers[state].first(memory.states[state].rows), memory.tangents[state], memory.pieces[state],
            memory.changes[state]};
}

void Search::queue(int state, Kind kind, double key, int rank) {
    memory.states[state].kind = kind;
    memory.push({key, rank, state});
}

/// Queue a state by its bound: before a row of equal cost, unless all target leaves below it have higher indices.
///
/// If costs come in units, bounds are exact and often equal; otherwise bounds that differ by rounding count as equal.
void Search::queue_by_bound(int state, Kind kind) {
    const State& entry = memory.states[state];
    const double key = question_->unit > 0.0 ? entry.bound : just_below(entry.bound);
    queue(state, kind, key, Queued::rank_of_bound(question_->target.first[entry.node]));
}

/// The lowest cost that a row can have at or above a bound.
double Search::lifted(double bound) const {
    const double unit = question_->unit;
    return unit > 0.0 ? std::max(bound, std::ceil(bound / unit - 1e-9) * unit) : bound;
}

/// Whether bounding a node pays off. If target leaves lie on one side only, the bound of that child serves the same purpose;
/// and where bounds are expensive, nodes with few target leaves are skipped.
bool Search::is_worth_bounding(int node) const {
    const Node& here = question_->tree.nodes[node];
    if (here.is_leaf()) return true;
    if (question_->method == Method::Coupled && question_->target.leaves[node] <= FEW) return false;
    return below(here.left) < INF && below(here.right) < INF;
}

/// Bound the region of a state and queue it by that bound, or discard it with its proof.
void Search::bound(int state, StopCheck& stop_check) {
    if (question_->method == Method::Coupled) return bound_coupled(state, stop_check);
    State& entry = memory.states[state];
    Bound found{Status::Converged, 0.0};
    const Numbers lam = memory.multipliers[state].first(entry.rows);
    if (question_->method == Method::Box || entry.rows == 0) {
        found.value = box_bound(*question_, box_, memory.changes[state]);
    } else {
        collect(state);
        std::ranges::copy(lam, saved_.begin());
        found = bound_by_rows(state, stop_check);
        if (found.status == Status::Infeasible) return discard(state);
    }
    const double bound = lifted(found.value) + below(entry.node);
    const double room = entry.proof == Proof::Estimate ? EQUAL * std::fabs(entry.bound) : 0.0;
    if (bound >= entry.bound - room)
        entry.bound = bound, entry.proof = found.sure ? Proof::Sure : Proof::Doubtful;
    else  // the known bound of a larger region is better: keep its multipliers
        std::ranges::copy(Numbers(saved_).first(entry.rows), lam.begin());
    entry.rough = found.rough;
    entry.exact = found.status == Status::Converged;
    queue_by_bound(state, Kind::Open);
}

/// Solve the region of a state. Where changes are charged, solve it twice: with the charge of each number spread over its
/// changes, and without charges, to which those that the rows force are added; the better bound counts.
Bound Search::bound_by_rows(int state, StopCheck& stop_check) {
    const auto attempt = [&] {
        const Bound found = regions_.solve(path_, box_, nothing_, dual_of(state), memory.changes[state], scratch_, stop_check);
        return found.status != Status::Infeasible && !question_->plain ? improved(state, found) : found;
    };
    const Bound found = attempt();
    if (question_->charges.empty() || found.status != Status::Converged) return found;
    const Numbers lam = memory.multipliers[state].first(memory.states[state].rows), change = memory.changes[state];
    const std::vector<double> first_lam(lam.begin(), lam.end()), first_change(change.begin(), change.end());
    regions_.spread_charges(false);
    const Bound other = attempt();
    regions_.spread_charges(true);
    if (other.status == Status::Converged && other.value > found.value) return other;
    std::ranges::copy(first_lam, lam.begin());
    std::ranges::copy(first_change, change.begin());
    return found;
}

void Search::bound_coupled(int state, StopCheck& stop_check) {
    State& entry = memory.states[state];
    double limit = INF;
    if (!memory.is_empty() && ++entry.visits < PUT_OFF) {  // above this limit, other states come first
        limit = memory.first().key - below(entry.node);
        limit += 1e-9 * std::fabs(limit);
    }
    collect(state);
    const double known = entry.bound - below(entry.node);
    const QuadraticBound found =
        coupled_.solve(path_, box_, nothing_, {known, limit}, coupled_dual_of(state), regions_, scratch_, stop_check);
    if (found.status == QuadraticStatus::Infeasible) return discard(state);
    if (!(found.value <= known)) {  // a sum that is rounded up would claim too much
        const double sum = found.value + below(entry.node);
        entry.bound = std::max(entry.bound, below(entry.node) == 0.0 ? sum : std::nextafter(sum, -INF));
        entry.proof = found.sure ? Proof::Sure : Proof::Doubtful;
    }
    entry.exact = found.status == QuadraticStatus::Converged;
    queue_by_bound(state, found.status == QuadraticStatus::AboveLimit || stop_check.is_due() ? Kind::Fresh : Kind::Open);
}

void Search::expand(int state) {
    memory.states[state].kind = Kind::Expanded;
    const int here = memory.states[state].node;
    double score = 0.0;
    if (node_of(state).form == Form::Oblique && memory.states[state].exact) {
        const Terms terms = question_->tree.splits[here];
        const Numbers change = memory.changes[state];
        score = regions_.at_source(here);
        for (std::size_t k = 0; k < terms.size(); ++k) score += terms.weights[k] * change[terms.columns[k]];
    }
    branch(state, Side::Left, score);
    branch(state, Side::Right, score);
}

/// Queue the child on one side; ``score`` is the position of the state's point at an oblique split.
void Search::branch(int state, Side side, double score) {
    const State entry = memory.states[state];
    const Node& node = question_->tree.nodes[entry.node];
    const Features& f = question_->features;
    const int child = node.child(side);
    if (below(child) == INF) return;
    const bool oblique = node.form == Form::Oblique;
    const State next{.node = child, .parent = state, .side = side, .rows = entry.rows + (oblique ? 1 : 0)};
    const std::size_t mark = box_.mark();
    apply(next);
    if (settle(mark)) {
        const int made = make(next, state);
        State& fresh = memory.states[made];
        fresh.bound = entry.bound - below(entry.node) + below(child);
        fresh.proof = entry.proof;
        bool inherits = entry.exact && (!oblique || sign_of(side) * score >= node.margin);
        for (const Interval& moved : box_.since(mark)) {
            const int d = moved.variable;
            const double at = f.source[d] + memory.changes[state][d];
            inherits = inherits && box_.lower(d) <= at && at <= box_.upper(d);
        }
        if (question_->method == Method::Box) {
            fresh.bound = lifted(box_bound(*question_, box_, memory.changes[made])) + below(child);
            fresh.proof = Proof::Sure;
            fresh.exact = true;
            queue_by_bound(made, Kind::Open);
        } else if (inherits) {
            std::ranges::copy(memory.changes[state], memory.changes[made].begin());
            fresh.exact = true, fresh.rough = entry.rough;
            queue_by_bound(made, Kind::Open);
        } else {  // solved when it is taken from the queue
            postpone(made, oblique && entry.exact ? node.margin - sign_of(side) * score : 0.0);
        }
    } else if (!question_->plain) {  // a proof is needed: the split alone does not show that it is empty
        discard_by_box(make(next, state));
    }
    box_.undo(mark);
}

/// Queue both sides of a fork.
void Search::fork(int state, const Choice& choice) {
    const State entry = memory.states[state];
    memory.states[state].kind = Kind::Forked;
    for (Side side : {Side::Left, Side::Right}) {
        const int made = make({.node = entry.node,
                               .parent = state,
                               .side = side,
                               .parting = choice.parting,
                               .what = choice.what,
                               .cut = side == Side::Left ? choice.low : choice.high,
                               .rows = entry.rows},
                              state);
        memory.states[made].bound = entry.bound;
        memory.states[made].proof = entry.proof;
        const std::size_t mark = box_.mark();
        apply(memory.states[made]);
        count_changes(made);
        if (settle(mark))
            postpone(made, 0.0);
        else
            discard_by_box(made);
        box_.undo(mark);
    }
}

/// Queue a state at the bound that the multipliers of its parent prove; it is solved when it is taken from the queue.
///
/// ``miss`` is the amount by which the parent's point misses the new row of the state, if there is a new row and the point is
/// exact; otherwise 0. If costs are curved, the row receives the multiplier that would move the point onto it if nothing else
/// moved. The Lagrangian is minimal at the point and curves upwards from there, so reaching the face of the row costs miss^2 /
/// sum_j a_j^2 / c_j.
void Search::postpone(int state, double miss) {
    State& entry = memory.states[state];
    const State& above = memory.states[entry.parent];
    const Numbers lam = memory.multipliers[state].first(entry.rows);
    const bool adds_row = entry.rows > above.rows;
    double extra = 0.0;
    if (adds_row && question_->method == Method::Curved && miss > 0.0 && !above.rough) {
        const double reach = reach_of(above.node);
        if (0.0 < reach && reach < INF) lam.back() = 2.0 * miss / reach, extra = miss * miss / reach;
    }
    if (question_->plain) {
        entry.bound += extra;
        if (extra > 0.0) entry.proof = Proof::Estimate;
        if (adds_row && question_->method == Method::Flat && regions_.is_source_best())
            entry.bound = bound_by_new_row(state, entry.side, entry.bound - below(entry.node)) + below(entry.node);
    } else if (!adds_row || extra > 0.0) {  // a row without a multiplier adds nothing
        collect(state);
        const ProvedBound proof = question_->method == Method::Coupled
                                      ? coupled_.prove(path_, box_, lam, memory.tangents[state], regions_, scratch_)
                                      : regions_.prove(path_, box_, lam, scratch_);
        const double bound = lifted(proof.value) + below(entry.node);
        if (bound > entry.bound) entry.bound = bound, entry.proof = proof.sure ? Proof::Sure : Proof::Doubtful;
        if (!(bound >= entry.bound)) {  // fall back to the multipliers of the parent
            std::ranges::copy_n(memory.multipliers[entry.parent].begin(), above.rows, lam.begin());
            if (adds_row) lam.back() = 0.0;
        }
    }
    queue_by_bound(state, Kind::Fresh);
}

/// sum_j a_j^2 / c_j over the variables that can move: how easily a row is reached if costs are curved.
double Search::reach_of(std::size_t row) const {
    const Terms terms = question_->tree.splits[row];
    double reach = 0.0;
    for (std::size_t k = 0; k < terms.size(); ++k) {
        const int d = terms.columns[k];
        if (box_.can_move(d)) reach += terms.weights[k] * terms.weights[k] * compliance_[d];
    }
    return reach;
}

/// The cost that the new row of a state requires by itself if costs are flat, or ``known`` if that is higher; writes the
/// multipliers that prove it.
double Search::bound_by_new_row(int state, Side side, double known) {
    State& entry = memory.states[state];
    const Features& f = question_->features;
    const int row = memory.states[entry.parent].node;
    const Terms terms = question_->tree.splits[row];
    const double miss = question_->offset(row) - sign_of(side) * regions_.at_source(row);
    double least = INF;
    for (std::size_t k = 0; k < terms.size(); ++k) {
        const int d = terms.columns[k];
        const double a = sign_of(side) * terms.weights[k];
        if (a == 0.0) continue;
        // a variable that a split has moved must not gain by the price of the row either
        if (box_.can_move(d) || box_.lower(d) != f.source[d])
            least = std::min(least, a > 0.0 ? f.slope_up[d] / a : f.slope_down[d] / a);
    }
    least *= 1.0 - 4.0 * ROUND;  // no price exceeds its slope
    const double sum = least * miss, bound = sum - 8.0 * ROUND * sum - least * terms.exact_to(terms.size_at(f.source));
    if (!(bound > known) || least == INF) return known;
    const Numbers lam = memory.multipliers[state].first(entry.rows);
    std::ranges::fill(lam, 0.0);
    lam.back() = least;
    entry.proof = Proof::Sure;
    return bound;
}

}  // namespace counterleaf
