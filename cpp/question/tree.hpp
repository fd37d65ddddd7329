// A tree prepared for questions with one margin, and the sums of its splits.
#pragma once

#include <cmath>
#include <vector>

#include "base/numbers.hpp"
#include "base/rounding.hpp"
#include "loops/loops.hpp"

namespace counterleaf {

/// A side of a split, or one of the two parts of a state.
enum class Side : std::uint8_t { Left, Right };

constexpr double sign_of(Side side) { return side == Side::Right ? 1.0 : -1.0; }

enum class Form : std::uint8_t { Leaf, Number, Group, Oblique };

struct Node {
    Form form = Form::Leaf;
    int left = -1, right = -1;  // at a split on one number, the right child takes the large values
    int index = -1;             // the number or group of the split
    double cut_left = 0.0;      // the largest value of that number sent left
    double cut_right = 0.0;     // the smallest value sent right
    double margin = 0.0;        // how far w @ x + b stays from 0

    bool is_leaf() const { return form == Form::Leaf; }
    int child(Side side) const { return side == Side::Right ? right : left; }
};

/// weights @ x[columns] + bias.
struct Terms {
    std::span<const int> columns;
    Constants weights;
    double bias;

    std::size_t size() const { return columns.size(); }
    /// The sum in column order; ``narrow`` casts x to float32 first, as scikit-learn does.
    double at(Constants x, bool narrow) const {
        double total = 0.0;
        for (std::size_t k = 0; k < size(); ++k) {
            const double value = x[columns[k]];
            total += weights[k] * (narrow ? static_cast<double>(static_cast<float>(value)) : value);
        }
        return total + bias;
    }
    /// The same with the size of its terms.
    Sum sum(Constants x, bool narrow) const {
        Sum out{0.0, std::fabs(bias)};
        for (std::size_t k = 0; k < size(); ++k) {
            const double value = x[columns[k]];
            const double term = weights[k] * (narrow ? static_cast<double>(static_cast<float>(value)) : value);
            out.total += term;
            out.size += std::fabs(term);
        }
        out.total += bias;
        return out;
    }
    double size_at(Constants x) const { return sum(x, false).size; }
    /// The sum in twice the working precision (compensated products and sums).
    double exactly_at(Constants x) const { return twofold_at(x).value(); }
    /// The same with the size of its terms.
    Sum exact_sum(Constants x) const {
        BallSum out{{bias, 0.0}, std::fabs(bias)};
        for (std::size_t k = 0; k < size(); ++k) out.add(weights[k], x[columns[k]]);
        return {out.sum.value(), out.size};
    }
    /// The same in two parts.
    Twofold twofold_at(Constants x) const {
        Twofold sum{bias, 0.0};
        for (std::size_t k = 0; k < size(); ++k) sum.add_product(weights[k], x[columns[k]]);
        return sum;
    }
    /// The rounding error of that sum for terms of the size ``whole``.
    double exact_to(double whole) const {
        const double count = static_cast<double>(size()) + 2.0;
        return whole < 1e140 ? count * count * ROUND * ROUND * whole : count * ROUND * whole;
    }
};

/// Rows of terms, one after another.
struct Rows {
    std::vector<std::size_t> start{0};
    std::vector<int> columns;
    std::vector<double> weights, bias;

    std::size_t size() const { return bias.size(); }
    Terms operator[](std::size_t i) const {
        const std::size_t from = start[i], count = start[i + 1] - from;
        return {std::span(columns).subspan(from, count), Constants(weights).subspan(from, count), bias[i]};
    }
};

struct Tree {
    std::size_t width = 0;  // variables
    std::vector<Node> nodes;
    Rows splits;            // one row per node; empty at leaves
    std::size_t depth = 0;  // the largest number of oblique splits on a path
    bool right_closed = true;
    bool narrow = false;

    bool goes_right(double score) const { return score > 0.0 || (right_closed && score == 0.0); }
};

/// The target leaves, seen from every node.
struct Target {
    std::vector<double> below;  // the lowest class cost of a target leaf below; inf if there is none
    std::vector<int> first;     // the target leaf below with the lowest index
    std::vector<int> leaves;    // the number of target leaves below
};

/// The largest number of oblique splits on a path.
std::size_t depth_of(const std::vector<Node>& nodes);

}  // namespace counterleaf
