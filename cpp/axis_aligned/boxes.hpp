// An axis-aligned tree with a separable cost, prepared for many rows (theorems 3.2 and 3.3).
//
// The region of a leaf is a product of intervals, grids and sets of values. Its cheapest row,
//
//     min  sum_d phi_d(x_d - s_d) + sum_d price_d(s_d, x_d)      over the rows x of a box that the tree sends to the leaf,
//
// takes the cheapest value of every feature separately; the first sum is over numbers, the second over the other features. A
// row has one number per feature: its value, or the index of its value among finitely many. A box bounds variables: a number is
// one variable, and each of finitely many values is one, with the upper bound 0 if it is not allowed.
#pragma once

#include <vector>

#include "axis_aligned/fields.hpp"
#include "base/numbers.hpp"

namespace counterleaf::axis_aligned {

/// A node of the tree. A split on a number sends small values to the left.
struct Split {
    BySide<int> child;  // -1 at a leaf
    int feature;
    int sides;           // of finitely many values: the index of their first side
    BySide<double> cut;  // of a number: the largest value sent left, the smallest value sent right

    bool is_leaf() const { return child[Side::Left] < 0; }
};

struct Interval {
    double low, high;
};

class Boxes {
public:
    /// ``splits`` form a tree with node 0 as its root. ``sides`` holds the side of each value, for each split on finitely many
    /// values in the order of the nodes; the constructor sets ``Split::sides``. ``labels`` are the classes of the leaves.
    Boxes(Fields fields, std::vector<Split> splits, std::vector<Side> sides, std::vector<int> labels);

    const Fields& fields() const { return fields_; }
    const std::vector<Split>& splits() const { return splits_; }
    const std::vector<int>& labels() const { return labels_; }
    std::size_t width() const { return fields_.size(); }
    std::size_t depth() const { return depth_; }

    /// The side of each value of a split's feature.
    const Side* sides(const Split& split) const { return sides_.data() + split.sides; }
    /// The values of a split's feature that the splits above send to its node.
    const Interval& interval(int node) const { return intervals_[static_cast<std::size_t>(node)]; }

    /// Whether every feature is a number without a step, and every split sends each number to one side.
    bool is_plain() const { return plain_; }
    /// The class of a row; requires plain boxes.
    int label_of(Constants row) const;
    /// Set ``least`` to INF at every child that no row of a box reaches; requires plain boxes.
    void close(Constants lower, Constants upper, Numbers least) const;

private:
    void narrow(int node, const std::vector<int>& parents);

    Fields fields_;
    std::vector<Split> splits_;
    std::vector<Interval> intervals_;
    std::vector<Side> sides_;
    std::vector<int> labels_;
    std::size_t depth_ = 0;
    bool plain_;
};

}  // namespace counterleaf::axis_aligned
