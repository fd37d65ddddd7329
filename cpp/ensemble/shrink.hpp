// From a problem and the states that are left to a smaller problem with the same answers.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "ensemble/partition.hpp"
#include "ensemble/problem.hpp"
#include "ensemble/proof.hpp"

namespace counterleaf::ensemble {

/// Removes what cannot be part of a row cheaper than the cutoff, and merges what no longer differs.
class Shrinking {
public:
    explicit Shrinking(const Question& question) : q_(question), rows_(question.target.rows) {}

    /// The problem of the states that ``keep`` marks; nothing if no row of them can cost less than ``cutoff`` and reach the
    /// target. States that are removed on the way are unmarked and noted in the proof, if there is one, as steps of ``node``.
    std::optional<Problem> shrink(const Problem& p, std::vector<std::uint8_t>& keep, double cutoff, Proof* proof, int node);

private:
    bool propagate(const Problem& p, std::vector<std::uint8_t>& keep, double cutoff, Proof* proof, int node);
    bool remove_costly(const Problem& p, std::vector<std::uint8_t>& keep, double cutoff);
    bool obey_limits(const Problem& p, std::vector<std::uint8_t>& keep);
    void index(const Problem& p, const std::vector<std::uint8_t>& keep);
    double cheapest(const Problem& p, int variable, int first, int last) const;
    bool find_leaves(const Problem& p, double cutoff);
    void factor_pieces(const Problem& p, int factor);
    void interval_costs(const Problem& p, int factor);
    void remove_uncovered(const Problem& p, int factor);
    bool remove_hopeless(const Problem& p, const std::vector<std::uint8_t>& keep, bool thorough);
    void add_losses(const Problem& p, int factor, int row);

    Problem rebuild(const Problem& p, const std::vector<std::uint8_t>& keep);
    void classify(const Problem& p, int factor);
    void merge_states(const Problem& p, const std::vector<std::uint8_t>& keep, Problem& out);
    void copy_factor(const Problem& p, int factor, Problem& out);
    void copy_link(const Problem& p, int link, Problem& out);
    void copy_intervals(const Problem& p, int factor, Problem& out);
    void fold(const Problem& p, int factor, int link, Problem& out);

    const Question& q_;
    const int rows_;
    double base_ = 0.0;
    bool changed_ = false;
    std::vector<double> least_;                // of each variable
    std::vector<int> next_, before_, source_;  // the next and the previous state that is kept; the cheapest state of a variable
    std::vector<std::uint8_t> alive_;          // leaves
    std::vector<std::uint8_t> used_;           // intervals of leaves that are alive
    std::vector<double> piece_cost_, piece_best_, interval_cost_, interval_best_, most_, loss_;
    std::vector<std::uint8_t> removed_, covered_, edge_, added_;
    std::vector<int> class_of_, classes_;  // of each piece, by message; how many each link has
    std::vector<int> new_state_, new_variable_, local_, stamp_, found_;
    std::vector<double> best_, away_;
    std::vector<std::uint64_t> keys_;
    std::vector<int> new_interval_;
    std::vector<std::array<int, 4>> known_;  // link, first and last class, old interval
    std::vector<Partition> partitions_;
};

}  // namespace counterleaf::ensemble
