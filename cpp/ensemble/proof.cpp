#include "ensemble/proof.hpp"

#include <cmath>

namespace counterleaf::ensemble {

void Proof::begin(const Problem& first) {
    links_of_.resize(q_.forest.trees());
    for (int f = 0; f < first.factors(); ++f) {
        for (int z = first.link_start[f]; z < first.link_start[f + 1]; ++z) {
            const Link& link = first.links[z];
            const int j = first.coordinate[link.variable], at = q_.forest.first_cell[j], n = q_.forest.count(j);
            links_of_[first.tree[f]].push_back(static_cast<int>(first_links.size()));
            first_links.push_back({first.tree[f], j, link.pieces, piece_of.size()});
            for (int k = 0; k < n; ++k) {
                const int state = first.state_of[at + k];
                piece_of.push_back(state < 0 ? -1 : first.piece(z, state - first.state_start[link.variable]));
            }
        }
    }
}

int Proof::add_node(int above, int which) {
    parent.push_back(above);
    side.push_back(which);
    return static_cast<int>(parent.size()) - 1;
}

std::size_t Proof::add_cells(const Problem& problem, int first, int last, std::span<const std::uint8_t> marked) {
    const std::size_t at = cells.size();
    cells.resize(at + static_cast<std::size_t>((last - first + 7) / 8), 0);
    for (int k = first; k < last; ++k) {
        const int state = problem.state_of[k];
        if (state >= 0 && marked[state]) cells[at + (k - first) / 8] |= static_cast<std::uint8_t>(1U << ((k - first) % 8));
    }
    return at;
}

void Proof::reduce(const Problem& problem, int node, std::span<const std::uint8_t> removed, int which) {
    const std::size_t at = add_cells(problem, 0, q_.forest.cells(), removed);
    steps.push_back({node, StepKind::Reduce, which, -1, at});
}

void Proof::branch(const Problem& problem, int variable, std::span<const std::uint8_t> first) {
    const int j = problem.coordinate[variable];
    const std::size_t at = add_cells(problem, q_.forest.first_cell[j], q_.forest.first_cell[j + 1], first);
    steps.push_back({problem.node, StepKind::Branch, -1, j, at});
}

/// Trees that are not factors of the problem depend on one variable at most and need no messages.
int Proof::store(const Problem& problem, double unit) {
    multipliers.push_back({problem.mu, unit, weights.size(), links.size(), messages.size()});
    weights.insert(weights.end(), problem.lambda.begin(), problem.lambda.end());
    weights.insert(weights.end(), problem.nu.begin(), problem.nu.end());
    for (int f = 0; f < problem.factors(); ++f) {
        for (int z = problem.link_start[f]; z < problem.link_start[f + 1]; ++z) {
            const int v = problem.links[z].variable, first_cell = q_.forest.first_cell[problem.coordinate[v]];
            for (const int at : links_of_[problem.tree[f]]) {
                const FirstLink& link = first_links[at];
                if (link.coordinate != problem.coordinate[v]) continue;
                const std::size_t begin = messages.size();
                messages.resize(begin + link.pieces, 0);
                bool some = false;
                for (int k = 0, last = -2; k < q_.forest.count(link.coordinate); ++k) {
                    const int piece = piece_of[link.first + k], state = problem.state_of[first_cell + k];
                    if (piece < 0 || state < 0 || piece == last) continue;
                    last = piece;
                    const double message =
                        problem.message[problem.links[z].message + problem.piece(z, state - problem.state_start[v])];
                    messages[begin + piece] = static_cast<int>(std::nearbyint(message / unit));
                    some |= messages[begin + piece] != 0;
                }
                if (some) links.push_back(at);
                if (!some) messages.resize(begin);
            }
        }
    }
    return static_cast<int>(multipliers.size()) - 1;
}

}  // namespace counterleaf::ensemble
