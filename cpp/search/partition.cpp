// The part of the search that computes the region of a state: its box, and the rows of its path.
#include "search/search.hpp"

namespace counterleaf {

/// Narrow the box to the region of a state; false if it is empty.
bool Search::enter(int state) {
    box_.undo(0);
    for (int at = state; memory.states[at].parent >= 0; at = memory.states[at].parent) apply(memory.states[at]);
    count_changes(state);
    return settle(0);
}

/// Propagate what was narrowed since a mark, through groups and limits on changes; false if the box is empty.
bool Search::settle(std::size_t mark) {
    if (!box_.propagate(mark)) return false;
    const std::size_t frozen = box_.mark();
    return limit_changes() && box_.propagate(frozen);
}

/// Narrow the box to the side of a state.
void Search::apply(const State& state) {
    const Features& f = question_->features;
    const bool right = state.side == Side::Right;
    const int what = state.what;
    if (state.parting == Parting::Split) {
        const int at = memory.states[state.parent].node;
        const Node& node = question_->tree.nodes[at];
        if (node.form == Form::Number) {
            const Step& step = question_->layout.step[node.index];
            const double source = f.source[node.index];
            if (right)
                box_.narrow(node.index, step.above(source, node.cut_right), INF);
            else
                box_.narrow(node.index, -INF, step.below(source, node.cut_left));
        } else if (node.form == Form::Group) {  // each value of the group goes to one side
            const Terms terms = question_->tree.splits[at];
            std::size_t k = 0;
            for (int v = question_->layout.first[node.index]; v < question_->layout.last[node.index]; ++v) {
                double score = terms.bias;
                if (k < terms.size() && terms.columns[k] == v) score += terms.weights[k++];
                const bool clear = node.margin == 0.0 || score * sign_of(state.side) >= node.margin;
                if (question_->tree.goes_right(score) != right || !clear) box_.narrow(v, 0.0, 0.0);
            }
        }
    } else if (state.parting == Parting::Cut) {
        box_.narrow(what, right ? state.cut : -INF, right ? INF : state.cut);
    } else if (state.parting == Parting::Count && !right) {
        for (std::size_t v = 0; v < f.width(); ++v)
            if (question_->layout.feature[v] == what) box_.narrow(v, f.source[v], f.source[v]);
    } else if (state.parting == Parting::Clause) {
        for (const Interval& entry : question_->part(question_->limits.clauses[what], state.side))
            box_.narrow(entry.variable, entry.lower, entry.upper);
    }
}

/// Count the features that forks on the way to a state have decided to change.
void Search::count_changes(int state) {
    if (!question_->counts_changes()) return;
    Quota& quota = box_.quota;
    std::ranges::fill(quota.counted, false);
    for (int at = state; at >= 0; at = memory.states[at].parent) {
        const State& entry = memory.states[at];
        if (entry.parting == Parting::Count && entry.side == Side::Right) quota.counted[entry.what] = true;
    }
    for (std::size_t i = 0; i < quota.left.size(); ++i) {
        const ChangeLimit& limit = question_->change_limits[i];
        quota.left[i] = limit.most;
        for (std::size_t feature = 0; feature < quota.counted.size(); ++feature)
            if (limit.members[feature] && quota.counted[feature]) --quota.left[i];
    }
}

/// Fix the other features of a limit once as many change as it allows: those that are counted, and those that the box does not
/// let stay. False if more of them change.
bool Search::limit_changes() {
    if (question_->change_limits.empty()) return true;
    const Features& f = question_->features;
    const std::vector<int>& feature = question_->layout.feature;
    moving_.assign(box_.quota.counted.begin(), box_.quota.counted.end());
    for (std::size_t v = 0; v < f.width(); ++v)
        if (!box_.holds(v, f.source[v])) moving_[feature[v]] = true;
    for (const ChangeLimit& limit : question_->change_limits) {
        int left = limit.most;
        for (std::size_t at = 0; at < moving_.size(); ++at)
            if (limit.members[at] && moving_[at]) --left;
        if (left < 0) return false;
        for (std::size_t v = 0; v < f.width() && left == 0; ++v)
            if (limit.members[feature[v]] && !moving_[feature[v]]) box_.narrow(v, f.source[v], f.source[v]);
    }
    return true;
}

/// Whether the point of a state changes too many features.
bool Search::changes_too_many(int state) const {
    if (question_->change_limits.empty()) return false;
    const Quota& quota = box_.quota;
    const std::vector<int>& feature = question_->layout.feature;
    std::vector<int> left = quota.left;
    for (std::size_t v = 0, last = feature.size(); v < feature.size(); ++v) {
        const auto at = static_cast<std::size_t>(feature[v]);
        if (memory.changes[state][v] == 0.0 || at == last || quota.counted[at]) continue;
        last = at;
        for (std::size_t i = 0; i < left.size(); ++i)
            if (question_->change_limits[i].members[at] && --left[i] < 0) return true;
    }
    return false;
}

/// Improve the bound of a state by better multipliers than those of the relaxation: multipliers that respect the limit on
/// changes or, once everything is fixed, none.
Bound Search::improved(int state, Bound known) {
    const Numbers lam = memory.multipliers[state].first(memory.states[state].rows);
    if (changes_too_many(state)) {
        std::vector<double> before(lam.begin(), lam.end());
        const AscentResult found = regions_.improve(path_, box_, lam, scratch_);
        if (found.empty) return {Status::Infeasible, INF};
        const ProvedBound value = found.better ? regions_.prove(path_, box_, lam, scratch_) : ProvedBound{-INF, 0.0, false};
        if (value.value > known.value)
            known.value = value.value, known.sure = value.sure;
        else
            std::ranges::copy(before, lam.begin());
    }
    const ProvedBound shrunk = regions_.shrink(path_, box_, lam, Constants(saved_).first(lam.size()), scratch_);
    known.value = shrunk.value, known.sure = shrunk.sure;
    const Scratch::Frame frame(scratch_);
    const double alone = box_bound(*question_, box_, scratch_.numbers(question_->features.width()));
    if (alone >= known.value) {
        known.value = alone, known.sure = true;
        std::ranges::fill(lam, 0.0);
    }
    return known;
}

/// Collect the rows of a state's region: first the user's rows, then those of its path from the root down.
void Search::collect(int state) {
    const std::size_t users = question_->user_rows();
    std::size_t t = memory.states[state].rows;
    path_.row.resize(t);
    path_.sign.resize(t);
    for (std::size_t u = 0; u < users; ++u) path_.row[u] = static_cast<int>(question_->user_row(u)), path_.sign[u] = 1.0;
    for (; memory.states[state].parent >= 0; state = memory.states[state].parent) {
        const State& entry = memory.states[state];
        const int above = memory.states[entry.parent].node;
        if (entry.parting != Parting::Split || question_->tree.nodes[above].form != Form::Oblique) continue;
        --t;
        path_.row[t] = above;
        path_.sign[t] = sign_of(entry.side);
    }
}

}  // namespace counterleaf
