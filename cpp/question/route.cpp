#include "question/route.hpp"

#include <algorithm>
#include <utility>

namespace counterleaf {

Router::Router(std::vector<Fork> forks, std::vector<Term> terms, bool right_closed, bool narrow)
    : forks_(std::move(forks)), terms_(std::move(terms)), right_closed_(right_closed), narrow_(narrow) {
    for (const Term& term : terms_) width_ = std::max(width_, term.column + 1);
}

template <bool NARROW>
int Router::route(Constants row) const {
    int node = 0;
    while (forks_[node].left >= 0) {
        const Fork& fork = forks_[node];
        double score = 0.0;
        for (std::size_t k = fork.first; k < fork.last; ++k) {
            const double x = row[terms_[k].column];
            score += terms_[k].weight * (NARROW ? static_cast<double>(static_cast<float>(x)) : x);
        }
        score += fork.bias;
        node = score > 0.0 || (right_closed_ && score == 0.0) ? fork.right : fork.left;
    }
    return node;
}

template int Router::route<true>(Constants) const;
template int Router::route<false>(Constants) const;

}  // namespace counterleaf
