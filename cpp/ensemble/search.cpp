#include "ensemble/search.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace counterleaf::ensemble {
namespace {

constexpr double SHARE = 4e-10;  // of the cost: how far the cutoff is below it; less than GAP, so that rounding has room
constexpr AscentOptions FIRST{150, 1.0, 0.6, 4}, LATER{20, 1.0, 0.6, 6};
constexpr int FIRST_ROUNDS = 8, LATER_ROUNDS = 3, FIRST_SWEEPS = 1;
constexpr double WORTHWHILE = 0.8;        // a box is narrowed again if at most this share of its states is left
constexpr int BITS = 15, FINE_BITS = 28;  // of rounded messages
constexpr int REPORT = 16;                // boxes between two reports
constexpr int DIVE = 50;                  // boxes after which the most promising one is taken
constexpr std::size_t MEMORY = std::size_t{1} << 30, PROOF = std::size_t{1} << 31;  // bytes of waiting boxes, and of a proof

std::size_t bytes_of(const Problem& p) {
    return 8 * (p.message.size() + p.gain.size() + p.leaf_gain.size() + p.leaf_key.size()) + 12 * p.intervals.size() +
           4 * p.entries.size() + 4 * (p.listed.size() + p.state_of.size() + p.entry_start.size() + 2 * p.run_state.size()) +
           48 * p.cell.size();
}

bool is_worse(const Problem& a, const Problem& b) { return a.bound > b.bound; }

}  // namespace

Search::Search(const Question& question, StopCheck& stop, std::int64_t max_nodes, double below, bool with_proof,
               Progress* progress)
    : q_(question), stop_(stop), max_nodes_(max_nodes), progress_(progress), dual_(question, stop), shrinking_(question),
      branching_(question, dual_), local_(question, incumbent_, stop) {
    if (with_proof) proof_ = std::make_unique<Proof>(question);
    for (int j = 0; j < question.forest.coordinates(); ++j) {
        double most = -INF;
        for (int k = 0; k < question.forest.count(j); ++k)
            if (question.cost_at(j, k) < INF) most = std::max(most, question.cost_at(j, k));
        ceiling_ += most;
    }
    ceiling_ = std::min(ceiling_ + 1.0 + std::fabs(ceiling_), below);
    incumbent_.cost = below;
}

double Search::cutoff() const { return has_row() ? incumbent_.cost - SHARE * std::fabs(incumbent_.cost) : ceiling_; }

/// Z must exceed this to be positive in spite of rounding.
double Search::enough() const { return q_.target.rounding(); }

double Search::lower_bound(const Problem& p, double z, double cut) const {
    return p.mu > 0.0 ? std::max(p.base, std::min(cut, cut + (z - enough()) / p.mu)) : z > enough() ? cut : p.base;
}

int Search::store(const Problem& p) { return proof_ ? proof_->store(p, unit_) : -1; }

Result Search::run() {
    Result out;
    const bool possible = ceiling_ > -INF;  // every coordinate has a cell that is allowed
    const bool late = possible && stop_.look();
    if (possible && !late) local_.climb();
    std::optional<Problem> first;
    if (possible && !late) first = build(q_, cutoff());
    const int node = proof_ ? proof_->add_node(-1, 0) : -1;
    if (first) {
        if (proof_) proof_->begin(*first);
        first->node = node;
        start_multipliers(*first);
        std::vector<std::uint8_t> keep(first->states(), 1);
        first = shrinking_.shrink(*first, keep, cutoff(), proof_.get(), node);
    }
    if (first) {
        explore(std::move(*first));
    } else if (proof_) {
        proof_->add(node, StepKind::Empty);
    }
    take_back_free_changes();
    out.cost = has_row() ? incumbent_.cost : INF;
    out.cells = incumbent_.cells;
    out.nodes = nodes_;
    if (late) {
        out.lower_bound = 0.0;
        for (int j = 0; j < q_.forest.coordinates(); ++j) out.lower_bound += q_.cost_at(j, q_.cheapest(j));
        out.lower_bound -= GAP * std::fabs(out.lower_bound);  // nothing was searched: the cost of the cheapest row
    } else if (!dive_.empty() || !queue_.empty() || undecided_ < cutoff()) {
        close_open(out);
    } else {
        out.verdict = has_row() ? Verdict::Optimal : Verdict::Infeasible;
        out.lower_bound = has_row() ? incumbent_.cost - GAP * std::fabs(incumbent_.cost) : INF;
    }
    out.proof = std::move(proof_);
    return out;
}

/// Changes that cost nothing are taken back where the row stays an answer.
void Search::take_back_free_changes() {
    std::vector<int>& s = incumbent_.cells;
    for (int j = 0; j < static_cast<int>(s.size()); ++j) {
        const int before = s[j], cheapest = q_.cheapest(j);
        if (!q_.moves(j, before) || q_.moves(j, cheapest) || q_.cost_at(j, cheapest) < q_.cost_at(j, before)) continue;
        s[j] = cheapest;
        if (!q_.target.accepts(q_.forest, s)) s[j] = before;
    }
}

void Search::start_multipliers(Problem& p) const {
    const int rows = q_.target.rows;
    p.lambda.assign(rows, 1.0 / rows);
    p.nu.assign(p.left.size(), 0.0);
    double need = 0.0;
    for (int r = 0; r < rows; ++r) {
        double sum = p.bias[r];
        for (int f = 0; f < p.factors(); ++f) {
            double most = -INF;
            for (int l = p.leaf_start[f]; l < p.leaf_start[f + 1]; ++l)
                most = std::max(most, p.leaf_gain[static_cast<std::size_t>(l) * rows + r]);
            sum += most;
        }
        need = std::max(need, sum);
    }
    p.mu = need / std::max(1e-12, cutoff() - p.base);
}

/// Take boxes until none is left or a limit is reached: down to the end of a branch, and now and then the most promising one.
void Search::explore(Problem first) {
    const auto take = [&](std::vector<Problem> boxes) {
        for (auto box = boxes.rbegin(); box != boxes.rend(); ++box) dive_.push_back(std::move(*box));
    };
    take(expand(std::move(first), true));
    std::size_t waiting = 0;
    int depth = 0;
    while ((!dive_.empty() || !queue_.empty()) && nodes_ < max_nodes_ && !stop_.is_due() &&
           (!proof_ || proof_->bytes() < PROOF)) {
        if (++depth > DIVE && waiting < MEMORY) {
            for (Problem& box : dive_) {
                waiting += bytes_of(box);
                queue_.push_back(std::move(box));
                std::ranges::push_heap(queue_, is_worse);
            }
            dive_.clear();
            depth = 0;
        }
        if (dive_.empty()) {
            std::ranges::pop_heap(queue_, is_worse);
            waiting -= std::min(waiting, bytes_of(queue_.back()));
            dive_.push_back(std::move(queue_.back()));
            queue_.pop_back();
        }
        if (nodes_ % REPORT == 0) report();
        Problem next = std::move(dive_.back());
        dive_.pop_back();
        take(expand(std::move(next), false));
    }
}

/// Close a box without multipliers if possible.
bool Search::close_simply(const Problem& p) {
    std::vector<int> s = p.fixed;
    for (int v = 0; v < p.variables(); ++v) {
        int best = p.state_start[v];
        for (int k = best + 1; k < p.state_start[v + 1]; ++k)
            if (q_.is_better(p.coordinate[v], p.cell[k], p.cell[best])) best = k;
        s[p.coordinate[v]] = p.cell[best];
    }
    const bool is_point = p.variables() == 0;
    if (p.base < cutoff()) incumbent_.offer(q_, s);  // the cheapest row of the box
    const bool is_costly = !(p.base < cutoff());
    const bool is_open = is_point && !is_costly && !q_.target.surely_rejects(q_.forest, s);
    if (is_open) undecided_ = std::min(undecided_, p.base);  // its cost bounds it, as if it were an answer
    if (proof_ && (is_costly || is_point)) proof_->add(p.node, is_costly || is_open ? StepKind::Empty : StepKind::Reject);
    return is_costly || is_point;
}

/// Raise the bound of a box; return Z with rounded messages.
double Search::improve(Problem& p, double cut, bool is_first) {
    // messages are rounded afterwards, which costs about a unit for each of some of them
    const double goal = enough() + 4.0 * std::ldexp(q_.target.largest, -BITS);
    dual_.refresh(p, true);
    double z = dual_.ascend(p, cut, goal, is_first ? FIRST : LATER);
    for (int k = 0; k < (is_first ? FIRST_SWEEPS : 1) && !(z > goal) && !stop_.is_due(); ++k) z = dual_.sweep(p, cut);
    const std::vector<double> exact = p.message;
    unit_ = dual_.round(p, q_.target.largest, BITS);
    const double rounded = dual_.value(p, cut);
    if (rounded > enough() || !(z > goal)) return rounded;
    p.message = exact;
    unit_ = dual_.round(p, q_.target.largest, FINE_BITS);
    return dual_.value(p, cut);
}

bool Search::narrow(Problem& p, std::vector<std::uint8_t>& keep) {
    const int node = p.node;
    std::optional<Problem> smaller = shrinking_.shrink(p, keep, cutoff(), proof_.get(), node);
    if (!smaller) {
        if (proof_) proof_->add(node, StepKind::Empty);
        return false;
    }
    p = std::move(*smaller);
    return true;
}

std::vector<Problem> Search::expand(Problem p, bool is_first) {
    ++nodes_;
    const int rounds = is_first ? FIRST_ROUNDS : LATER_ROUNDS;
    for (int round = 1;; ++round) {
        if (close_simply(p)) return {};
        const double cut = cutoff(), z = improve(p, cut, is_first);
        p.bound = std::max(p.bound, lower_bound(p, z, cut));
        if (z > enough()) {
            const int stored = store(p);
            if (proof_) proof_->add(p.node, StepKind::Close, stored);
            return {};
        }
        Reduction found = branching_.reduce(p, z, enough());
        int stored = -1;
        if (found.some && proof_) proof_->reduce(p, p.node, found.removed, stored = store(p));
        const double before = incumbent_.cost;
        if (incumbent_.offer(q_, found.guess)) local_.descend(incumbent_.cells);
        std::vector<std::uint8_t> keep(p.states());
        std::size_t left = 0;
        for (int s = 0; s < p.states(); ++s) left += keep[s] = !found.removed[s];
        const bool is_better = incumbent_.cost < before && is_first;
        const bool is_smaller = found.some && static_cast<double>(left) < (is_first ? 1.0 : WORTHWHILE) * p.states();
        if (round < rounds && (is_better || is_smaller) && !stop_.is_due()) {
            if (!narrow(p, keep)) return {};
            continue;
        }
        if (nodes_ >= next_effort_) {
            next_effort_ *= 4;
            local_.climb(found.guess, -1);
            if (has_row()) local_.repair();
        }
        return divide(p, keep, found.cut, z, cut, stored);
    }
}

std::vector<Problem> Search::divide(const Problem& p, const std::vector<std::uint8_t>& keep, const Cut& cut, double z,
                                    double cutoff_then, int stored) {
    std::vector<Problem> out;
    if (proof_) proof_->branch(p, cut.variable, cut.first);
    for (const int side : {0, 1}) {
        const double z_there = z + cut.rise[side];
        const int node = proof_ ? proof_->add_node(p.node, side) : -1;
        if (z_there > enough()) {
            if (stored < 0) stored = store(p);
            if (proof_) proof_->add(node, StepKind::Close, stored);
            continue;
        }
        std::vector<std::uint8_t> states = keep;
        for (int s = p.state_start[cut.variable]; s < p.state_start[cut.variable + 1]; ++s)
            if ((cut.first[s] != 0) != (side == 0)) states[s] = 0;
        std::optional<Problem> box = shrinking_.shrink(p, states, cutoff(), proof_.get(), node);
        if (!box) {
            if (proof_) proof_->add(node, StepKind::Empty);
            continue;
        }
        box->node = node;
        box->bound = std::max({box->bound, box->base, lower_bound(p, z_there, cutoff_then)});
        out.push_back(std::move(*box));
    }
    if (out.size() == 2 && out[1].bound < out[0].bound) std::swap(out[0], out[1]);
    return out;
}

double Search::open_bound() const {
    double least = incumbent_.cost;
    for (const auto* boxes : {&dive_, &queue_})
        for (const Problem& box : *boxes) least = std::min(least, box.bound);
    return least;
}

void Search::report() {
    if (progress_ == nullptr) return;
    lower_ = std::max(lower_, open_bound());
    progress_->cost = incumbent_.cost;
    progress_->lower_bound = lower_;
    progress_->nodes = nodes_;
}

/// Prove the bounds of the boxes that are still open, and the least of them for the whole question.
void Search::close_open(Result& out) {
    const double cut = cutoff();
    double least = std::min(undecided_, has_row() ? incumbent_.cost - GAP * std::fabs(incumbent_.cost) : ceiling_);
    for (auto* boxes : {&dive_, &queue_}) {
        for (Problem& box : *boxes) {
            dual_.refresh(box, true);
            unit_ = dual_.round(box, q_.target.largest, BITS);
            const double bound = lower_bound(box, dual_.value(box, cut), cut);
            least = std::min(least, bound);
            const int stored = store(box);
            if (proof_) proof_->add(box.node, StepKind::Close, stored);
        }
    }
    out.verdict = Verdict::Limit;
    out.lower_bound = least - GAP * std::fabs(least);  // room for the rounding of the check
}

}  // namespace counterleaf::ensemble
