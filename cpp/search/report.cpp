#include "search/report.hpp"

namespace counterleaf {
namespace {

void sort_by_cost(const Memory& memory, std::vector<int>& found) {
    std::ranges::stable_sort(found, [&](int a, int b) {
        const State &one = memory.states[a], &other = memory.states[b];
        return one.cost != other.cost ? one.cost < other.cost : one.node < other.node;
    });
}

bool is_waiting(const State& state) {
    return state.kind == Kind::Open || state.kind == Kind::Fresh || state.kind == Kind::Realised ||
           state.kind == Kind::Unsettled;
}

/// Whether a leaf without a row may contain one that is cheaper than the last answer.
bool has_open_end(const Memory& memory, std::size_t wanted) {
    if (memory.unsettled == 0) return false;
    double last = INF;
    if (memory.answers.size() == wanted) {
        last = -INF;
        for (int state : memory.answers) last = std::max(last, memory.states[state].cost - memory.states[state].allowed);
    }
    return std::ranges::any_of(memory.states,
                               [&](const State& state) { return state.kind == Kind::Unsettled && state.bound < last; });
}

/// Report the best rows so far, one per leaf, and the lowest bound of the remaining states.
Report stopped(const Memory& memory, std::size_t wanted) {
    Report out{Verdict::Limit, {}, {}, INF};
    std::vector<int> found = memory.answers;
    for (std::size_t s = 0; s < memory.states.size(); ++s) {
        if (memory.states[s].kind == Kind::Realised) found.push_back(static_cast<int>(s));
        if (is_waiting(memory.states[s])) out.lower_bound = std::min(out.lower_bound, memory.states[s].bound);
    }
    sort_by_cost(memory, found);
    for (int state : found) {
        const int node = memory.states[state].node;
        const auto is_of_leaf = [&](int other) { return memory.states[other].node == node; };
        if (out.states.size() == wanted) break;
        if (std::ranges::any_of(out.states, is_of_leaf)) continue;
        double bound = memory.states[state].bound;
        for (const State& other : memory.states)
            if (other.node == node && is_waiting(other)) bound = std::min(bound, other.bound);
        out.states.push_back(state);
        out.bounds.push_back(bound);
        out.lower_bound = std::min(out.lower_bound, bound);
    }
    if (!out.bounds.empty()) out.bounds.front() = out.lower_bound;  // a remaining state may contain a cheaper row
    return out;
}

}  // namespace

Report report(const Memory& memory, Ending ending, std::size_t wanted) {
    if (ending == Ending::Unbounded) return {Verdict::Unbounded, {}, {}, -INF};
    if (ending == Ending::Stopped || has_open_end(memory, wanted)) return stopped(memory, wanted);
    Report out{memory.answers.empty() ? Verdict::Infeasible : Verdict::Optimal, memory.answers, {}, INF};
    sort_by_cost(memory, out.states);  // the queue may have taken rows that are equal up to rounding in either order
    for (int state : out.states) {
        double bound = memory.states[state].bound;
        for (const State& other : memory.states)
            if (other.kind == Kind::Passed && other.node == memory.states[state].node) bound = std::min(bound, other.bound);
        out.bounds.push_back(bound);
    }
    for (const State& state : memory.states)
        if (is_waiting(state) || state.kind == Kind::Answered || state.kind == Kind::Passed)
            out.lower_bound = std::min(out.lower_bound, state.bound);
    return out;
}

}  // namespace counterleaf
