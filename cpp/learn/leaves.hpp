// Leaves that compute: each has one or several outputs, constants or linear functions of the row, and a row has a loss there.
#pragma once

#include <vector>

#include "learn/rows.hpp"

namespace counterleaf::learn {

enum class Loss : std::int8_t {
    Square,  // (y - output)^2, of a number y
    Log,     // -log of the softmax of class y
};

struct Leaves {
    Loss loss;
    std::size_t outputs, width;
    std::vector<double> intercept;  // (nodes, outputs)
    std::vector<double> slope;      // (nodes, outputs, width); empty if all leaves are constant

    /// The loss of a row with the target y, a number or the position of a class.
    double at(const Entries& x, double y, int node) const;

private:
    double output(const Entries& x, std::size_t place) const {
        return slope.empty() ? intercept[place] : x.dot({slope.data() + place * width, width}) + intercept[place];
    }
};

}  // namespace counterleaf::learn
