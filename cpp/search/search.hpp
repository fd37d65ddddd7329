// Best-first search over the tree: the leaves in order of cost, each with a proof.
//
// A state is a tree node with the splits on its path. Its bound is the lowest cost in that region (see ``region.hpp``), so it
// bounds every leaf below. Invariant of the queue: every target leaf without an answer lies below a queued, discarded or
// unsettled state. The point of a state lies in one of the two children of its node, which inherits the point and the bound.
// The other child has one more row; it is bounded immediately and solved when it is taken from the queue. A leaf taken from the
// queue is realised: its point becomes a row that the model sends to the leaf, and the leaf is queued again at the cost of that
// row. When it is taken again, the row is an answer.
//
// On a table, the point of a leaf may violate a clause, change too many features, or lie between the values of a group or a
// grid. Then the leaf forks into two states that together contain all its rows. A row that costs no more than the bound of its
// state is its best row; any other row only indicates where to fork.
#pragma once

#include "base/stopping.hpp"
#include "bound/box.hpp"
#include "region/coupled_region.hpp"
#include "region/region.hpp"
#include "search/memory.hpp"

namespace counterleaf {

enum class Ending : std::uint8_t { Done, Stopped, Unbounded };

struct Budget {
    std::size_t answers = 1;
    std::size_t nodes = std::numeric_limits<std::size_t>::max();  // the largest number of states to process
    bool keep = false;                                            // keep the memory, for a question with a larger margin
};

class Search {
public:
    Search(std::size_t width, std::size_t max_rows, std::size_t groups);

    /// Answer a question from scratch; the result is in ``memory``.
    Ending run(const Question& question, const Budget& budget, StopCheck& stop_check);

    /// Answer a question whose regions all lie within those of an earlier question (because its margin is larger), starting
    /// from the memory of the earlier one.
    ///
    /// Earlier bounds and proofs of emptiness remain valid. Every other state is bounded again from its warm start.
    Ending resume(const Memory& earlier, const Question& question, const Budget& budget, StopCheck& stop_check);

    Memory memory;
    int runaway = -1;       // Unbounded: the variable whose cost decreases without end in a target leaf
    bool in_doubt = false;  // Done: whether a result may be due to rounding

private:
    void prepare(const Question& question);
    Ending go_on(const Budget& budget, StopCheck& stop_check);
    void begin();
    // states
    int make(State state, int like);
    Dual dual_of(int state) const;
    CoupledDual coupled_dual_of(int state) const;
    void queue(int state, Kind kind, double key, int rank);
    void queue_by_bound(int state, Kind kind);
    double lifted(double bound) const;
    // regions
    bool enter(int state);
    void apply(const State& state);
    bool settle(std::size_t mark);
    void count_changes(int state);
    bool limit_changes();
    bool changes_too_many(int state) const;
    Bound improved(int state, Bound known);
    void collect(int state);
    bool is_worth_bounding(int node) const;
    void bound(int state, StopCheck& stop_check);
    Bound bound_by_rows(int state, StopCheck& stop_check);
    void bound_coupled(int state, StopCheck& stop_check);
    // children
    void discard(int state);
    void discard_by_box(int state);
    void confirm(double dearest);
    bool is_in_doubt(std::size_t wanted);
    void expand(int state);
    void branch(int state, Side side, double score);
    void fork(int state, const Choice& choice);
    void postpone(int state, double miss);
    double reach_of(std::size_t row) const;
    double bound_by_new_row(int state, Side side, double known);
    // leaves
    bool realise(int state, StopCheck& stop_check);
    bool runs_away(int state);
    bool is_at_home(int state);
    enum class Found : std::uint8_t { Row, Nothing, Empty };
    void mark_counted_and_named(int state);
    Found find_row(int state, const Forks& forks, StopCheck& stop_check, Constants change);
    Found move_inwards(int state, StopCheck& stop_check, Constants change);
    bool finds_row_with_few_changes(int state, const Forks& forks, StopCheck& stop_check);
    bool finds_free_row(int state, const Forks& forks, StopCheck& stop_check);
    bool is_free(std::size_t v, Side side) const;
    bool finds_row_inside(int state, std::size_t mark, const Forks& forks, StopCheck& stop_check);
    bool take_better(int state, bool has_row);
    void start_trial(int state);
    Status solve_tightened(Constants slack, StopCheck& stop_check);
    bool is_best(int state, double cost) const;
    double allowed_of(int state, Constants x) const;
    void accept_row(int state, double cost);
    bool is_indivisible(int state, std::optional<Choice>& choice);
    bool is_matched(const State& entry) const;

    const Node& node_of(int state) const { return question_->tree.nodes[memory.states[state].node]; }
    double below(int node) const { return question_->target.below[node]; }

    const Question* question_ = nullptr;
    Regions regions_;
    CoupledRegions coupled_;
    Box box_;
    Path path_;
    Scratch scratch_;
    std::vector<char> counted_, named_;  // for ``Forks``
    std::vector<char> moving_;           // per feature: whether it changes in every row of a region
    std::vector<bool> answered_;         // per node
    struct Cheapest {
        double cost = INF, rounding = 0.0;
    };
    std::vector<Cheapest> row_of_;        // per leaf that may fork: the cheapest row so far
    std::vector<double> x_, compliance_;  // a row; one over the curvature that a variable has where it can move
    std::vector<double> centre_, other_;  // the row nearest to the point of a region; another row of the region
    bool has_other_ = false;
    bool has_free_ = false;                // some number may move at no cost, and no change earns
    std::vector<double> nothing_, saved_;  // per row of a path: no slack; saved multipliers
    struct Trial {                         // the parts of a state, for the region of a leaf with tightened rows
        std::vector<double> multipliers, change, tangent;
        std::vector<Basic> basis;
        std::vector<Seat> seats;
        std::vector<Piece> pieces;
    } trial_;
};

}  // namespace counterleaf
