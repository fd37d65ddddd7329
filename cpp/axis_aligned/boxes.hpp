// An axis-aligned tree and a separable cost, made ready for many rows (theorems 3.2 and 3.3).
//
// The region of a leaf is a product of intervals, grids and sets of values. The cheapest row in it,
//
//     min  sum_d phi_d(x_d - s_d) + sum_d price_d(s_d, x_d)      over the rows x of a box that the tree sends to the leaf,
//
// takes the cheapest value of every feature alone; the first sum is over the numbers, the second over the other features. A row
// has one number per feature: its value, or the place of its value among the finitely many of the feature. A box limits
// variables: a number is one, and every one of finitely many values is one, with the upper limit 0 where it is not allowed.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "question/step.hpp"
#include "base/scratch.hpp"

namespace counterleaf::boxes {

/// Where a split sends a value; Neither: it is within the margin, or the splits above send it elsewhere.
enum class Side : std::int8_t { Left, Right, Neither };

/// Something for Left and for Right.
template <class T>
struct BySide {
    std::array<T, 2> both;

    const T& operator[](Side side) const { return both[static_cast<std::size_t>(side)]; }
};

/// phi(d) on one side of 0, see phi.hpp.
struct HalfPhi {
    double curve, slope;

    double operator()(double d) const { return (curve * d + slope) * d; }
};

struct Field {
    BySide<HalfPhi> phi;   // of a number that decreases, and that increases
    Step step;             // of a number
    std::size_t variable;  // the first one
    std::size_t moves;     // of finitely many values: where the prices of their changes begin
    int size;              // the number of values, 0 for a number

    bool is_number() const { return size == 0; }
};

struct Fields {
    std::vector<Field> all;
    std::vector<double> moves;  // what each change of value costs, by old and new value, one field after another

    std::size_t size() const { return all.size(); }
    const Field& operator[](std::size_t d) const { return all[d]; }
    /// What the changes from a value cost.
    const double* prices(const Field& field, std::size_t from) const {
        return moves.data() + field.moves + from * static_cast<std::size_t>(field.size);
    }
};

/// A node of the tree. The children of a split on a number are its low and its high side.
struct Split {
    BySide<int> child;  // -1 at a leaf
    int feature;
    int sides;           // of finitely many values: where their sides begin
    BySide<double> cut;  // of a number: the last one sent left, the first one sent right

    bool is_leaf() const { return child[Side::Left] < 0; }
};

struct Interval {
    double low, high;
};

class Boxes {
public:
    /// ``splits`` form a tree with node 0 as its root. ``sides`` has, for each split on finitely many values in the order of
    /// the nodes, the side of each value; ``Split::sides`` is set here. ``labels`` are the classes of the leaves.
    Boxes(Fields fields, std::vector<Split> splits, std::vector<Side> sides, std::vector<int> labels);

    const Fields& fields() const { return fields_; }
    const std::vector<Split>& splits() const { return splits_; }
    const std::vector<int>& labels() const { return labels_; }
    std::size_t width() const { return fields_.size(); }
    std::size_t depth() const { return depth_; }

    /// The side of each value of a split's feature.
    const Side* sides(const Split& split) const { return sides_.data() + split.sides; }
    /// The numbers of a split's feature that the splits above send to its node.
    const Interval& interval(int node) const { return intervals_[static_cast<std::size_t>(node)]; }

    /// Whether every feature is a number without a step, and every split sends each number to one side.
    bool is_plain() const { return plain_; }
    /// The class of a row, if the boxes are plain.
    int label_of(Constants row) const;
    /// Set ``least`` to INF at every child that no row of a box reaches, if the boxes are plain.
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

}  // namespace counterleaf::boxes
