// The states of a search and its queue. The memory is reused by the next question.
//
// The states form a tree. Those that were neither expanded nor forked partition the space. Each holds the multipliers that
// prove its bound, or a Farkas vector if it is empty; together they are the proof.
#pragma once

#include <vector>

#include "base/lines.hpp"
#include "quadratic/program.hpp"
#include "question/question.hpp"
#include "rows/forks.hpp"
#include "separable/simplex.hpp"

namespace counterleaf {

enum class Kind : std::uint8_t {
    Fresh,      // queued at a bound from before it was solved
    Open,       // queued at the bound of its own solution
    Expanded,   // replaced by its children in the tree
    Forked,     // a leaf, replaced by the two sides of a choice
    Realised,   // a leaf with a row, queued at the cost of the row
    Answered,   // its row is an answer
    Passed,     // its leaf already has a cheaper answer
    Discarded,  // proved empty
    Unsettled,  // a leaf without a row that is not proved empty
};

/// How certain the bound of a state is, or that it is empty.
enum class Proof : std::uint8_t {
    Sure,      // proved by its multipliers in real arithmetic
    Estimate,  // proved up to rounding errors that were not computed
    Doubtful,  // proved if small differences are due to rounding
};

/// A tree node with the splits on its path and, at a leaf, the forks.
struct State {
    int node = 0;
    int parent = -1;
    Side side = Side::Left;            // which side of the parent; meaningless at the root
    Parting parting = Parting::Split;  // how the parent was divided
    int what = -1;                     // the variable, feature or clause of a fork, see Choice
    double cut = 0.0;                  // the bound of a Parting::Cut
    int rows = 0;                      // the number of rows of the region, including the user's
    int point = -1;                    // the index of its realised row
    int visits = 0;                    // how often its bound was postponed
    Kind kind = Kind::Fresh;
    Proof proof = Proof::Sure;
    double lattice = 0.0;  // positive: discarded by divisibility; the multipliers of the equalities are numerators over this
    bool thin = false;     // its leaf lies between faces that nearly coincide
    bool exact = false;    // whether ``changes`` holds the optimum of the region
    bool rough = false;    // whether that optimum is off by more than rounding
    double bound = -INF;
    double cost = INF;     // of the realised row
    double allowed = 0.0;  // how much the row may cost above the bound
};

/// A state in the queue; among equal keys the lower rank comes first.
///
/// Ranks order rows by their leaves. A bound comes after a row of the first target leaf below it and before a row of any later
/// leaf.
struct Queued {
    double key;
    int rank;
    int state;

    static constexpr int FIRST = -1;
    static constexpr int rank_of_row(int leaf) { return 2 * leaf; }
    static constexpr int rank_of_bound(int first_leaf) { return 2 * first_leaf + 1; }

    friend bool later(const Queued& a, const Queued& b) { return a.key != b.key ? a.key > b.key : a.rank > b.rank; }
};

class Memory {
public:
    /// For ``width`` variables, ``groups`` groups, and paths of up to ``max_rows`` rows.
    Memory(std::size_t width, std::size_t max_rows, std::size_t groups)
        : multipliers(max_rows), slacks(max_rows), changes(width), tangents(width), basis(max_rows + groups), seats(width),
          pieces(width), points(width) {}

    std::size_t max_rows() const { return multipliers.width(); }

    /// Forget the last question.
    void clear(const Question& question) {
        method = question.method;
        prices = question.prices;
        states.clear();
        queue_.clear();
        answers.clear();
        realised = unsettled = taken = 0;
    }

    /// Forget answers and queue, but not the states.
    void restart() {
        queue_.clear();
        answers.clear();
        realised = unsettled = taken = 0;
    }

    int add(const State& state) {
        states.push_back(state);
        multipliers.hold(states.size());
        slacks.hold(states.size());
        changes.hold(states.size());
        if (method == Method::Flat) basis.hold(states.size()), seats.hold(states.size());
        if (method == Method::Coupled) tangents.hold(states.size()), pieces.hold(states.size());
        return static_cast<int>(states.size()) - 1;
    }

    void push(Queued entry) {
        queue_.push_back(entry);
        std::ranges::push_heap(queue_, LATER);
    }
    int pop() {
        std::ranges::pop_heap(queue_, LATER);
        const int state = queue_.back().state;
        queue_.pop_back();
        return state;
    }
    bool is_empty() const { return queue_.empty(); }
    const Queued& first() const { return queue_.front(); }

    Method method = Method::Box;  // of the question
    std::uint64_t prices = 0;     // of the question, see Prices::id
    std::vector<State> states;
    Lines<double> multipliers;  // per state: the proof of its bound, or a Farkas vector
    Lines<double> slacks;       // per state: by how much its rows were tightened
    Lines<double> changes;      // per state: the region's point, as a change from the source
    Lines<double> tangents;     // per state, coupled costs: part of the proof of its bound
    Lines<Basic> basis;         // per state, flat costs: where the simplex stopped
    Lines<Seat> seats;
    Lines<Piece> pieces;                                 // per state, coupled costs: where the pivots stopped
    Lines<double> points;                                // rows of the realised leaves
    std::vector<int> answers;                            // states, in order of cost
    std::size_t realised = 0, unsettled = 0, taken = 0;  // rows in ``points``; leaves that were given up; states processed

private:
    static constexpr auto LATER = [](const Queued& a, const Queued& b) { return later(a, b); };
    std::vector<Queued> queue_;
};

}  // namespace counterleaf
