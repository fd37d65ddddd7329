// The part of the search that decides at the end whether its claims are certain.
#include <cmath>

#include "search/search.hpp"

namespace counterleaf {
namespace {

constexpr double NEAR = 1e-3;  // relative to a bound: an estimate this far above an answer is above it in spite of rounding

/// Whether a state is a leaf of the search that may contain rows.
bool is_part(const State& state) {
    return state.kind != Kind::Expanded && state.kind != Kind::Forked && state.kind != Kind::Discarded;
}

}  // namespace

/// Discard a region whose multipliers are a Farkas vector: it is empty, certainly or up to rounding.
void Search::discard(int state) {
    State& entry = memory.states[state];
    entry.kind = Kind::Discarded;
    const Numbers lam = memory.multipliers[state].first(entry.rows);
    const bool sure = regions_.is_surely_empty(path_, box_, lam, scratch_);
    entry.proof = sure ? Proof::Sure : Proof::Doubtful;
}

/// Discard a region whose box is empty; this is not a proof if only the horizon ends the box.
void Search::discard_by_box(int state) {
    const Features& f = question_->features;
    bool sure = true;
    for (std::size_t d = 0; d < f.width() && sure; ++d)
        if (f.horizon[d] != 0.0) sure = box_.lower(d) <= box_.upper(d);
    memory.states[state].kind = Kind::Discarded;
    memory.states[state].proof = sure ? Proof::Sure : Proof::Doubtful;
}

/// Prove the bounds that are still estimates and near the cost of an answer.
void Search::confirm(double dearest) {
    for (std::size_t s = 0; s < memory.states.size(); ++s) {
        State& entry = memory.states[s];
        const bool is_far = entry.bound - dearest > NEAR * (std::fabs(entry.bound) + std::fabs(dearest));
        if (entry.proof != Proof::Estimate || !is_part(entry) || is_far) continue;
        const int state = static_cast<int>(s);
        if (!enter(state)) continue;
        collect(state);
        const ProvedBound proof = regions_.prove(path_, box_, memory.multipliers[s].first(entry.rows), scratch_);
        entry.bound = std::min(entry.bound, proof.value + below(entry.node));
        entry.proof = proof.sure ? Proof::Sure : Proof::Doubtful;
    }
}

/// Whether some state may contain a row cheaper than the answers, or a row although it was discarded.
bool Search::is_in_doubt(std::size_t wanted) {
    const State* last = nullptr;
    for (int state : memory.answers)
        if (last == nullptr || memory.states[state].cost > last->cost) last = &memory.states[state];
    const bool all = memory.answers.size() < wanted;  // the search claims that there are no others
    confirm(all || last == nullptr ? INF : last->cost);
    for (const State& entry : memory.states) {
        if (entry.kind == Kind::Discarded && entry.proof == Proof::Doubtful) return true;
        if (!is_part(entry)) continue;
        const State* against = last;
        if (answered_[entry.node])
            for (int state : memory.answers)
                if (memory.states[state].node == entry.node) against = &memory.states[state];
        if (against == nullptr) return true;
        if (entry.proof == Proof::Doubtful || !(entry.bound >= against->cost - against->allowed)) return true;
    }
    return false;
}

}  // namespace counterleaf
