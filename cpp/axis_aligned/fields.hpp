// The features of an axis-aligned tree, with the prices of their changes.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "question/step.hpp"

namespace counterleaf::axis_aligned {

/// Where a split sends a value. Neither: the value is within the margin, or the splits above send it elsewhere.
enum class Side : std::int8_t { Left, Right, Neither };

/// A value for Left and one for Right.
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
    BySide<HalfPhi> phi;   // of a number: for decreases, and for increases
    Step step;             // of a number
    std::size_t variable;  // the first variable of the feature
    std::size_t moves;     // of finitely many values: the index of their first price
    int size;              // the number of values, 0 for a number
    double charge;         // of a number: the price of changing it at all

    bool is_number() const { return size == 0; }
};

struct Fields {
    std::vector<Field> all;
    std::vector<double> moves;  // the price of each change of value, by old and new value, one field after another

    std::size_t size() const { return all.size(); }
    const Field& operator[](std::size_t d) const { return all[d]; }
    /// The prices of all changes from a value.
    const double* prices(const Field& field, std::size_t from) const {
        return moves.data() + field.moves + from * static_cast<std::size_t>(field.size);
    }
};

}  // namespace counterleaf::axis_aligned
