// The part of the search that computes the region of a state: its box, and the rows of its path.
#include "search/search.hpp"

namespace counterleaf {

/// Narrow the box to the region of a state; false if it is empty.
bool Search::enter(int state) {
    box_.undo(0);
    for (int at = state; memory.states[at].parent >= 0; at = memory.states[at].parent) apply(memory.states[at]);
    freeze_uncounted(state);
    return box_.propagate(0);
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
                const bool clear = question_->margin == 0.0 || score * sign_of(state.side) >= question_->margin;
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

/// Count the features that change on the way to a state; once the limit is reached, fix all others.
void Search::freeze_uncounted(int state) {
    if (!question_->limits.counts_changes()) return;
    const Features& f = question_->features;
    Quota& quota = box_.quota;
    quota.left = question_->limits.most;
    quota.counted.assign(f.width(), false);
    for (int at = state; at >= 0; at = memory.states[at].parent) {
        const State& entry = memory.states[at];
        if (entry.parting == Parting::Count && entry.side == Side::Right) quota.counted[entry.what] = true, --quota.left;
    }
    if (quota.left > 0) return;
    for (std::size_t v = 0; v < f.width(); ++v)
        if (!quota.counted[question_->layout.feature[v]]) box_.narrow(v, f.source[v], f.source[v]);
}

/// Whether the point of a state changes too many features.
bool Search::changes_too_many(int state) const {
    const Quota& quota = box_.quota;
    if (!quota.is_limited()) return false;
    const std::vector<int>& feature = question_->layout.feature;
    int changed = 0, last = -1;
    for (std::size_t v = 0; v < feature.size(); ++v)
        if (memory.changes[state][v] != 0.0 && feature[v] != last && !quota.counted[feature[v]]) ++changed, last = feature[v];
    return changed > quota.left;
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
