// Best-first search over the tree: the leaves in order of cost, each with a proof.
//
// A state is a tree node with the splits on its path; its bound is the least cost over that region (see ``region.hpp``), so it
// bounds every leaf below. Invariant of the queue: every target leaf not yet answered lies below a queued, discarded or
// unsettled state. At a node, the state's own point lies in one of the two children, which inherits point and bound unsolved;
// the other one, with one more row, is bounded at once and solved when it comes up. A leaf that is popped is realised (put on
// the model's numbers, inside the leaf as the model routes it) and queued again at its realised cost; popped again, it is an
// answer.
//
// On a table a leaf's point may break a clause, change too many features, or put a group or a grid between its values. Then the
// leaf forks: it becomes two states that hold all its rows between them, queued in the same queue. A row that costs no more
// than its state's bound is the best of it; any other only says where to fork.
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
    std::size_t nodes = std::numeric_limits<std::size_t>::max();  // states taken up
    bool keep = false;                                            // the memory, for a question with a larger margin
};

class Search {
public:
    Search(std::size_t width, std::size_t max_rows, std::size_t groups);

    /// Answer a question from scratch; what was found is in ``memory``.
    Ending run(const Question& question, const Budget& budget, StopCheck& stop_check);

    /// Answer a question whose every region lies within that of an earlier one (a larger margin), from what that one left.
    ///
    /// Old bounds still hold, and what was proved empty stays so. Whatever else is left is bounded anew, from where it was.
    Ending resume(const Memory& earlier, const Question& question, const Budget& budget, StopCheck& stop_check);

    Memory memory;
    int runaway = -1;       // Unbounded: the variable whose cost keeps decreasing on a target leaf
    bool in_doubt = false;  // Done: whether something that was found, or found empty, may be so by rounding only

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
    void freeze_uncounted(int state);
    bool changes_too_many(int state) const;
    Bound improved(int state, Bound known);
    void collect(int state);
    bool is_worth_bounding(int node) const;
    void bound(int state, StopCheck& stop_check);
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
    std::vector<bool> answered_;         // per node
    struct Cheapest {
        double cost = INF, rounding = 0.0;
    };
    std::vector<Cheapest> row_of_;        // per leaf that may fork: the cheapest row so far
    std::vector<double> x_, compliance_;  // a row; one over the curvature that a variable has wherever it can move
    std::vector<double> centre_, other_;  // the row nearest to a region's point; another row of the region
    bool has_other_ = false;
    std::vector<double> nothing_, saved_;  // per row of a path: no slack; multipliers
    struct Trial {                         // what a state has, for a leaf's region with tightened rows
        std::vector<double> multipliers, change, tangent;
        std::vector<Basic> basis;
        std::vector<Seat> seats;
        std::vector<Piece> pieces;
    } trial_;
};

}  // namespace counterleaf
