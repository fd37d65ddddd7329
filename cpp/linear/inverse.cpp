#include "linear/inverse.hpp"

#include <cmath>
#include <utility>

namespace counterleaf {

bool invert(Grid B, std::size_t k, Grid out) {
    for (std::size_t i = 0; i < k; ++i)
        for (std::size_t j = 0; j < k; ++j) out[i][j] = i == j ? 1.0 : 0.0;
    for (std::size_t c = 0; c < k; ++c) {
        std::size_t pivot = c;
        for (std::size_t i = c + 1; i < k; ++i)
            if (std::fabs(B[i][c]) > std::fabs(B[pivot][c])) pivot = i;
        if (std::fabs(B[pivot][c]) < 4e-16) return false;
        if (pivot != c)
            for (std::size_t j = 0; j < k; ++j) std::swap(B[c][j], B[pivot][j]), std::swap(out[c][j], out[pivot][j]);
        const double inverse = 1.0 / B[c][c];
        for (std::size_t j = 0; j < k; ++j) B[c][j] *= inverse, out[c][j] *= inverse;
        for (std::size_t i = 0; i < k; ++i) {
            const double factor = B[i][c];
            if (i == c || factor == 0.0) continue;
            for (std::size_t j = 0; j < k; ++j) B[i][j] -= factor * B[c][j], out[i][j] -= factor * out[c][j];
        }
    }
    return true;
}

}  // namespace counterleaf
