// The leaf that a row reaches, in the arithmetic of the model.
//
// A row x goes right at a node if w @ x + b > 0, or if the sum is 0 and the right side is closed. The sum is taken in float64
// and in the order of the columns. A narrow model rounds x to float32 first, as scikit-learn does.
#pragma once

#include <cstddef>
#include <vector>

#include "base/numbers.hpp"

namespace counterleaf {

/// A node; its weights are the terms first .. last - 1.
struct Fork {
    int left, right;  // -1 at a leaf
    std::size_t first, last;
    double bias;
};

struct Term {
    std::size_t column;
    double weight;
};

class Router {
public:
    Router(std::vector<Fork> forks, std::vector<Term> terms, bool right_closed, bool narrow);

    /// The smallest number of columns that a row must have.
    std::size_t width() const { return width_; }

    int leaf(Constants row) const { return narrow_ ? route<true>(row) : route<false>(row); }

private:
    template <bool NARROW>
    int route(Constants row) const;

    std::vector<Fork> forks_;
    std::vector<Term> terms_;
    std::size_t width_ = 0;
    bool right_closed_, narrow_;
};

}  // namespace counterleaf
