// What a search remembers; kept from one question to the next, so that its room is made once.
//
// The states form a tree. Those that were neither expanded nor forked part the space between them, each with the multipliers
// that prove its bound (or a Farkas vector, if it is empty): together they are the proof.
#pragma once

#include <vector>

#include "base/lines.hpp"
#include "quadratic/program.hpp"
#include "question/question.hpp"
#include "rows/forks.hpp"
#include "separable/simplex.hpp"

namespace counterleaf {

enum class Kind : std::uint8_t {
    Fresh,      // queued at a bound that is known without its own solve
    Open,       // queued at its own bound
    Expanded,   // by the tree's split into its children
    Forked,     // a leaf, by a choice
    Realised,   // a leaf with a row, queued at the row's cost
    Answered,   // that came first
    Passed,     // whose leaf has been answered for less
    Discarded,  // proved empty
    Unsettled,  // a leaf without a row that is not proved empty
};

/// How a state's bound is known.
enum class Proof : std::uint8_t {
    Sure,      // its multipliers prove it in real arithmetic; or it is empty, likewise
    Estimate,  // they do but for rounding, which was not added up
    Doubtful,  // they do if what looks like rounding is rounding
};

/// A tree node with what parts it from the rest: the splits on its path, and at a leaf the forks.
struct State {
    int node = 0;
    int parent = -1;
    Side side = Side::Left;            // of what parts it from its sibling; the root has none
    Parting parting = Parting::Split;  // what that is
    int what = -1;                     // the variable, feature or clause of a fork
    double cut = 0.0;                  // where a Parting::Cut stops
    int rows = 0;                      // of the region, the user's included
    int point = -1;                    // its realised row
    int visits = 0;                    // how often its bound was put off
    Kind kind = Kind::Fresh;
    Proof proof = Proof::Sure;
    double lattice = 0.0;  // positive: discarded by divisibility, the equalities' multipliers are to be divided by this
    bool thin = false;     // its leaf lies between faces that nearly coincide
    bool exact = false;    // whether ``changes`` holds the region's optimum
    bool rough = false;    // whether that is off by more than rounding, as the multipliers see it
    double bound = -INF;
    double cost = INF;     // of the realised row
    double allowed = 0.0;  // what it may cost above the bound
};

/// A state in the queue; of equal keys the lower rank comes first.
///
/// Ranks order rows by their leaves. A bound comes behind a row of the first target leaf below it, and before a row of any
/// later one: no row with a lower leaf and the same cost can be below it.
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
    /// For ``width`` variables and ``groups`` groups, and paths of up to ``rooms`` rows.
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

    /// Forget what was answered and queued, not the states.
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
    Lines<double> multipliers;  // per state: what proves its bound, or a Farkas vector
    Lines<double> slacks;       // per state: by how much its rows were tightened
    Lines<double> changes;      // per state: the region's point, as a change from the source
    Lines<double> tangents;     // per state, coupled costs: with the multipliers, what proves its bound
    Lines<Basic> basis;         // per state, flat costs: where the simplex stopped
    Lines<Seat> seats;
    Lines<Piece> pieces;                                 // per state, coupled costs: where the pivots stopped
    Lines<double> points;                                // rows of the realised leaves
    std::vector<int> answers;                            // states, in order of cost
    std::size_t realised = 0, unsettled = 0, taken = 0;  // points; leaves that were given up; states taken up

private:
    static constexpr auto LATER = [](const Queued& a, const Queued& b) { return later(a, b); };
    std::vector<Queued> queue_;
};

}  // namespace counterleaf
