#include "question/tree.hpp"

namespace counterleaf {

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
