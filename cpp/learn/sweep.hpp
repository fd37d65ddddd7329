// One sweep over a tree of fixed shape: route the rows, find what each split decides about them, and improve the splits.
//
// A split decides about a row that reaches its node if exactly one of the two labels is right that the row would get through
// the left and through the right child; the row should then go to that side. If leaves compute, it decides about every row
// whose losses through the two children differ, and the difference is the weight of the row. Splits of one depth share no rows.
//
// The functions that take a range of rows or some nodes write only to the data of these rows or nodes, so threads can share the
// work with the same result. All other functions must be called by one thread at a time.
#pragma once

#include <optional>
#include <vector>

#include "learn/leaves.hpp"
#include "learn/rows.hpp"
#include "learn/stump.hpp"

namespace counterleaf::learn {

/// A tree with root 0 whose children come after their parents. W and b belong to the caller, and sweeps change them.
struct Tree {
    struct Node {
        int left, right;  // -1 at a leaf

        bool is_leaf() const { return left < 0; }
    };

    std::vector<Node> nodes;
    double* W;  // (nodes, width)
    std::size_t width;
    Numbers b;

    std::size_t size() const { return nodes.size(); }
    Split split(std::size_t node) const { return {{W + node * width, width}, b[node]}; }
    int leaf_of(const Entries& x) const {
        int node = 0;
        while (!nodes[node].is_leaf()) node = split(node).sends_right(x) ? nodes[node].right : nodes[node].left;
        return node;
    }
    std::size_t depth() const;
};

/// How to improve a split.
struct Rule {
    double alpha;
    bool cautious;  // keep an oblique split if the new one sends more weight to the wrong side
    bool narrow;    // few columns: fit_narrow
};

struct RowRange {
    std::size_t first, last;
};

class Sweep {
public:
    /// ``labels`` and ``weight`` belong to the rows. With ``columns`` (of the same rows), splits are axis-aligned and stay so.
    Sweep(const Rows& rows, const Columns* columns, const Tree& tree, std::vector<int> labels, std::vector<double> weight);

    const Rows& rows() const { return rows_; }
    const Tree& tree() const { return tree_; }
    std::size_t depth() const { return path_.size() - 1; }

    /// Follow rows from the root to their leaves.
    void route(RowRange range);
    std::span<const int> leaves() const { return path_.back(); }

    /// Give rows the label of their leaf; ``sure`` holds, by node, the label that all leaves below share, or -1 if they differ.
    void label(std::span<const int> labels, std::vector<int> sure);

    /// Give rows the outputs of their leaf; ``targets`` are their numbers, or their labels again.
    void compute(Leaves leaves, std::vector<double> targets);

    /// The loss of each row, by the outputs of its leaf.
    std::span<const double> losses() const { return now_loss_; }

    /// Select the splits of one depth; the caller starts with the deepest.
    void enter(std::size_t depth);

    /// Find the side to which each row should go at its node.
    void judge(RowRange range);

    /// Collect, for each node, the rows about which it decides. Returns their number by node.
    std::vector<std::size_t> collect();

    /// Find better splits for some nodes.
    void improve(std::span<const int> nodes, const Rule& rule);

    /// Update the labels of the rows after the splits of this depth have changed.
    void refresh(RowRange range);

private:
    enum class Wanted : std::int8_t { Either, Left, Right };
    struct Labels {
        int left, right;  // through each child
    };

    bool goes_right(std::size_t r, int node) const;
    int child(std::size_t r, int node) const { return goes_right(r, node) ? tree_.nodes[node].right : tree_.nodes[node].left; }
    Sample sample(int node) const;
    void even_weights();

    const Rows& rows_;
    const Columns* columns_;
    const Tree& tree_;
    std::vector<int> labels_;
    std::vector<double> weight_;
    std::vector<std::vector<int>> path_;  // [d][r]: the node of row r at depth d; a row stays at its leaf
    std::vector<int> now_;                // the current label of each row
    std::vector<int> sure_;
    std::optional<Leaves> leaves_;  // if the leaves compute; a label is then the leaf itself
    std::vector<double> targets_;
    std::vector<double> now_loss_;  // the current loss of each row
    struct Losses {
        double left, right;  // through each child
    };
    std::vector<Losses> either_loss_;
    std::size_t depth_ = 0;
    std::vector<Labels> either_;  // the labels that each row would get from its node of this depth
    std::vector<Wanted> wanted_;
    std::vector<char> changed_;        // by node
    std::vector<std::size_t> column_;  // by node: the column of an axis-aligned split
    std::vector<std::size_t> starts_;  // node k decides about the collected rows from starts_[k] to starts_[k + 1]
    std::vector<int> collected_;
    std::vector<double> side_, decided_weight_;
};

}  // namespace counterleaf::learn
