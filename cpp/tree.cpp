#include "tree.hpp"

#include <cmath>

namespace counterleaf {
namespace {

struct Halves {
    double high, low;

    /// Veltkamp's splitting: x = high + low, each with half of the digits.
    explicit Halves(double x) {
        const double big = 134217729.0 * x;
        high = big - (big - x);
        low = x - high;
    }
};

}  // namespace

Sum Terms::exact_sum(Constants x) const {
    double total = bias, rest = 0.0, size_of = std::fabs(bias);
    for (std::size_t k = 0; k < size(); ++k) {
        const double a = weights[k], b = x[columns[k]], product = a * b;
        if (std::fabs(a) < 1e140 && std::fabs(b) < 1e140) {
            const Halves p(a), q(b);
            rest += p.low * q.low - (((product - p.high * q.high) - p.low * q.high) - p.high * q.low);
        }
        const double summed = total + product, t = summed - total;
        rest += (total - (summed - t)) + (product - t);
        total = summed;
        size_of += std::fabs(product);
    }
    return {total + rest, size_of};
}

std::size_t depth_of(const std::vector<Node>& nodes) {
    std::vector<std::size_t> above(nodes.size(), 0), order{0};
    std::size_t most = 0;
    for (std::size_t k = 0; k < order.size(); ++k) {
        const std::size_t at = order[k];
        const Node& node = nodes[at];
        most = std::max(most, above[at]);
        if (node.is_leaf()) continue;
        for (int child : {node.left, node.right}) {
            above[child] = above[at] + (node.form == Form::Oblique ? 1 : 0);
            order.push_back(child);
        }
    }
    return most;
}

}  // namespace counterleaf
