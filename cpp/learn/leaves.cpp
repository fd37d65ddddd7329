#include "learn/leaves.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace counterleaf::learn {

double Leaves::at(const Entries& x, double y, int node) const {
    const std::size_t first = static_cast<std::size_t>(node) * outputs;
    if (loss == Loss::Square) {
        const double gap = y - output(x, first);
        return gap * gap;
    }
    // invariant: ``most`` is the largest output so far, and ``total`` the sum of exp(output - most)
    const auto label = static_cast<std::size_t>(y);
    double most = -std::numeric_limits<double>::infinity(), total = 0.0, mine = 0.0;
    for (std::size_t k = 0; k < outputs; ++k) {
        const double z = output(x, first + k);
        if (k == label) mine = z;
        total = z > most ? total * std::exp(most - z) + 1.0 : total + std::exp(z - most);
        most = std::max(most, z);
    }
    return most + std::log(total) - mine;
}

}  // namespace counterleaf::learn
