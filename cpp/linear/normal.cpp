#include "linear/normal.hpp"

#include <cmath>

namespace counterleaf {
namespace {

constexpr double SMALL = 1e-9;  // relative to its square: a row with a smaller pivot nearly depends on the others

/// R R' = A_F D A_F' + damping I by Cholesky; false if a pivot is small.
bool factor(const NormalEquations& e, const Grid& R, Scratch& scratch) {
    const Scratch::Frame frame(scratch);
    const std::size_t count = e.chosen.size();
    loops.gram(e.A, e.chosen.data(), count, e.weight.data(), scratch.numbers(e.A.columns).data(), R);
    for (std::size_t a = 0; a < count; ++a) {
        R[a][a] += e.damping;
        double full = R[a][a];
        for (std::size_t b = 0; b < a; ++b) {
            double total = R[a][b];
            for (std::size_t k = 0; k < b; ++k) total -= R[a][k] * R[b][k];
            R[a][b] = total / R[b][b];
            full -= R[a][b] * R[a][b];
        }
        if (full < SMALL * R[a][a] || R[a][a] < SMALL) return false;  // the second case: no feature of the row can move
        R[a][a] = std::sqrt(full);
    }
    return true;
}

/// The same factor without forming the product: Gram-Schmidt on D^(1/2) A_F', applied twice.
void orthogonalise(const NormalEquations& e, const Grid& R, Scratch& scratch) {
    const Scratch::Frame frame(scratch);
    const std::size_t count = e.chosen.size(), n = e.A.columns, whole = n + count;
    const Grid M = scratch.grid(count, whole);
    for (std::size_t a = 0; a < count; ++a) {
        double* row = M[a];
        for (std::size_t j = 0; j < n; ++j) row[j] = e.A[e.chosen[a]][j] * std::sqrt(e.weight[j]);
        std::fill_n(row + n, count, 0.0);
        row[n + a] = std::sqrt(e.damping);
        std::fill_n(R[a], a, 0.0);
        for (int again = 0; again < 2; ++again)
            for (std::size_t b = 0; b < a; ++b) {
                double total = 0.0;
                for (std::size_t j = 0; j < whole; ++j) total += M[b][j] * row[j];
                R[a][b] += total;
                for (std::size_t j = 0; j < whole; ++j) row[j] -= total * M[b][j];
            }
        double total = 0.0;
        for (std::size_t j = 0; j < whole; ++j) total += row[j] * row[j];
        R[a][a] = std::sqrt(total);
        for (std::size_t j = 0; j < whole; ++j) row[j] /= R[a][a];
    }
}

/// Solve R R' step = gradient on the chosen rows.
void substitute(const NormalEquations& e, Constants gradient, Numbers step, const Grid& R) {
    const std::size_t count = e.chosen.size();
    for (std::size_t a = 0; a < count; ++a) {
        double total = gradient[e.chosen[a]];
        for (std::size_t k = 0; k < a; ++k) total -= R[a][k] * step[k];
        step[a] = total / R[a][a];
    }
    for (std::size_t a = count; a-- > 0;) {
        double total = step[a];
        for (std::size_t k = a + 1; k < count; ++k) total -= R[k][a] * step[k];
        step[a] = total / R[a][a];
    }
}

}  // namespace

bool solve_normal(const NormalEquations& equations, Constants gradient, Numbers step, const Grid& R, Scratch& scratch) {
    const bool sound = factor(equations, R, scratch);
    if (!sound) orthogonalise(equations, R, scratch);
    substitute(equations, gradient, step, R);
    return sound;
}

}  // namespace counterleaf
