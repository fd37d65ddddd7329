// The proof of a search, step by step: a tree of boxes, each of which is narrowed, divided in two, or closed for a reason that
// can be computed again. Steps are about the cells of the forest, not about the states of a problem.
//
// Every step may first remove cells that cost too much by themselves; the check does so on its own.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ensemble/problem.hpp"

namespace counterleaf::ensemble {

enum class StepKind : std::int8_t {
    Reduce,  // cells that cannot be in a row cheaper than the cutoff: by the multipliers, or without them by plain sums
    Branch,  // the cells of one coordinate are divided: some belong to the first child, the others to the second one
    Close,   // the multipliers prove that no row is cheaper than the cutoff
    Empty,   // the same follows without multipliers: from the costs alone, or because a row of the target cannot hold
    Reject,  // all rows of the box reach the same leaves, and are rejected
};

struct Step {
    int node;
    StepKind kind;
    int multipliers;    // which ones; -1 for none
    int coordinate;     // of a branch
    std::size_t cells;  // where the bits of removed cells, or of the first child, begin
};

/// Messages of one set of multipliers, in whole multiples of a unit.
struct StoredMultipliers {
    double mu, unit;
    std::size_t weights;   // where lambda and nu begin
    std::size_t links;     // where its links begin
    std::size_t messages;  // where its messages begin
};

/// A link of the first problem: a tree, a coordinate, and the piece of each of its cells (-1 for cells that are not in the
/// box).
struct FirstLink {
    int tree, coordinate;
    int pieces;
    std::size_t first;  // of its cells in ``piece_of``
};

class Proof {
public:
    explicit Proof(const Question& question) : q_(question) {}

    /// Note the links of the first problem, in whose pieces messages are stored.
    void begin(const Problem& first);
    int add_node(int parent, int side);
    /// Store the multipliers of a problem, whose messages are whole multiples of ``unit``.
    int store(const Problem& problem, double unit);
    void add(int node, StepKind kind, int multipliers = -1) { steps.push_back({node, kind, multipliers, -1, 0}); }
    /// Note that cells are removed: those of the states that ``removed`` marks.
    void reduce(const Problem& problem, int node, std::span<const std::uint8_t> removed, int multipliers);
    /// Note that a coordinate is divided; ``first`` marks the states of the first child.
    void branch(const Problem& problem, int variable, std::span<const std::uint8_t> first);
    std::size_t bytes() const { return cells.size() + 4 * messages.size() + 4 * links.size() + 40 * steps.size(); }

    std::vector<int> parent, side;  // of each node
    std::vector<Step> steps;
    std::vector<std::uint8_t> cells;
    std::vector<StoredMultipliers> multipliers;
    std::vector<double> weights;
    std::vector<int> links, messages;
    std::vector<FirstLink> first_links;
    std::vector<int> piece_of;

private:
    std::size_t add_cells(const Problem& problem, int first, int last, std::span<const std::uint8_t> marked);

    const Question& q_;
    std::vector<std::vector<int>> links_of_;  // of each tree
};

}  // namespace counterleaf::ensemble
