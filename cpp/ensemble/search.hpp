// Branch and bound over boxes of cells. A box is closed by its bound, narrowed by what the multipliers exclude, or divided.
//
// The search answers "is there a row cheaper than the cutoff?" for a cutoff just below the cost of the best row so far, so that
// it need not distinguish rows of equal cost. When no box is left, the best row is the cheapest one, up to GAP of its cost.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <vector>

#include "base/stopping.hpp"
#include "ensemble/branching.hpp"
#include "ensemble/dual.hpp"
#include "ensemble/local_search.hpp"
#include "ensemble/proof.hpp"
#include "ensemble/shrink.hpp"

namespace counterleaf::ensemble {

inline constexpr double GAP = 5e-10;  // of the cost: how far the bound of an optimal answer may be below it

enum class Verdict : std::int8_t { Optimal, Infeasible, Limit };

/// What a search has found so far; another thread may read it.
struct Progress {
    std::atomic<double> cost{INF}, lower_bound{-INF};
    std::atomic<std::int64_t> nodes{0};
};

struct Result {
    Verdict verdict = Verdict::Limit;
    double cost = INF, lower_bound = -INF;
    std::vector<int> cells;
    std::int64_t nodes = 0;
    std::unique_ptr<Proof> proof;
};

class Search {
public:
    /// Only rows that cost less than ``below`` are of interest.
    Search(const Question& question, StopCheck& stop, std::int64_t max_nodes, double below, bool with_proof,
           Progress* progress);

    Result run();

private:
    bool has_row() const { return !incumbent_.cells.empty(); }
    double cutoff() const;
    void start_multipliers(Problem& p) const;
    void take_back_free_changes();
    /// Bound a box, and return the boxes into which it is divided; none if it is closed.
    std::vector<Problem> expand(Problem p, bool is_first);
    bool close_simply(const Problem& p);
    double improve(Problem& p, double cut, bool is_first);
    bool narrow(Problem& p, std::vector<std::uint8_t>& keep);
    std::vector<Problem> divide(const Problem& p, const std::vector<std::uint8_t>& keep, const Cut& cut, double z,
                                double cutoff, int stored);
    double enough() const;
    double lower_bound(const Problem& p, double z, double cut) const;
    int store(const Problem& p);
    void explore(Problem first);
    double open_bound() const;
    void report();
    void close_open(Result& out);

    const Question& q_;
    StopCheck& stop_;
    const std::int64_t max_nodes_;
    Progress* progress_;
    Incumbent incumbent_;
    Dual dual_;
    Shrinking shrinking_;
    Branching branching_;
    LocalSearch local_;
    std::unique_ptr<Proof> proof_;
    double ceiling_ = 0.0;    // the cutoff as long as there is no row: above the cost of every row of interest
    double unit_ = 0.0;       // of the messages that were rounded last
    double lower_ = -INF;     // the bound that was reported last
    double undecided_ = INF;  // the least cost of rows that the model may accept or not
    std::int64_t nodes_ = 0;
    std::int64_t next_effort_ = 32;      // the number of boxes at which better rows are looked for once more
    std::vector<Problem> dive_, queue_;  // boxes that are explored next, and those that wait, by their bounds
};

}  // namespace counterleaf::ensemble
