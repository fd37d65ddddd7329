// This file is compiled once per instruction set; COUNTERLEAF_SWEEPS is the name of its table. It uses nothing from the
// standard library. Every entry is computed by the same operations in the same order for any register width.
#include "loops/sweeps.hpp"

#if !defined(__GNUC__)
#include <math.h>
#endif

#ifndef COUNTERLEAF_SWEEPS
#define COUNTERLEAF_SWEEPS sweeps
#endif

namespace counterleaf {
namespace {

constexpr std::size_t TILE = REGISTER > 2 ? 4 : 2;  // the number of columns whose sums fit into the registers

double root(double x) {
#if defined(__GNUC__)
    return __builtin_sqrt(x);
#else
    return sqrt(x);
#endif
}

/// Subtract the contributions of the columns first <= p < last from the columns to, ..., to + WIDTH - 1, at the rows to <= r <
/// end.
///
/// Entries written above the diagonal land in the spare memory behind earlier columns.
template <std::size_t WIDTH>
COUNTERLEAF_INLINE void subtract(const Columns& L, std::size_t first, std::size_t last, std::size_t to, std::size_t end) {
    for (std::size_t r = to; r < end; r += LANES) {
        Lanes sum[WIDTH];
        for (std::size_t q = 0; q < WIDTH; ++q) sum[q] = load(L[to + q] + r);
        for (std::size_t p = first; p < last; ++p) {
            const Lanes column = load(L[p] + r);
            for (std::size_t q = 0; q < WIDTH; ++q) sum[q] = sum[q] - column * same(L[p][to + q]);
        }
        for (std::size_t q = 0; q < WIDTH; ++q) store(L[to + q] + r, sum[q]);
    }
}

std::size_t finish(const Panel& panel, const double* least, double* inverse) {
    const auto& [L, first, last, end] = panel;
    for (std::size_t block = first; block < last; block += BLOCK) {
        const std::size_t until = block + BLOCK < last ? block + BLOCK : last;
        for (std::size_t c = block; c < until; c += TILE) subtract<TILE>(L, first, block, c, end);
        for (std::size_t c = block; c < until; ++c) {
            subtract<1>(L, block, c, c, end);
            double* column = L[c];
            if (!(column[c] > least[c])) return c;
            column[c] = root(column[c]);
            inverse[c] = 1.0 / column[c];
            const Lanes scale = same(inverse[c]);
            for (std::size_t r = c + 1; r < end; r += LANES) store(column + r, load(column + r) * scale);
        }
    }
    return last;
}

void update(const Panel& panel) {
    for (std::size_t c = panel.last; c < panel.end; c += TILE) subtract<TILE>(panel.L, panel.first, panel.last, c, panel.end);
}

/// ``forward`` for COUNT lines at once: the operations within a block form a long dependency chain, and several chains run in
/// parallel.
template <std::size_t COUNT>
void forward_some(const Columns& L, const double* inverse, const int* end, std::size_t n, double* x, std::size_t apart) {
    for (std::size_t block = 0; block < n; block += BLOCK) {
        const std::size_t until = block + BLOCK < n ? block + BLOCK : n;
        bool empty = true;
        for (std::size_t w = 0; w < COUNT; ++w)
            for (std::size_t c = block; c < until; ++c) empty = empty && x[w * apart + c] == 0.0;
        if (empty) continue;
        for (std::size_t c = block; c < until; ++c)
            for (std::size_t w = 0; w < COUNT; ++w) {
                double* line = x + w * apart;
                const double value = line[c] *= inverse[c];
                for (std::size_t r = c + 1; r < until; ++r) line[r] -= value * L[c][r];
            }
        const auto last = static_cast<std::size_t>(end[until - 1]);
        for (std::size_t r = until; r < last; r += LANES) {
            Lanes sum[COUNT];
            for (std::size_t w = 0; w < COUNT; ++w) sum[w] = load(x + w * apart + r);
            for (std::size_t p = block; p < until; ++p) {
                const Lanes column = load(L[p] + r);
                for (std::size_t w = 0; w < COUNT; ++w) sum[w] = sum[w] - column * same(x[w * apart + p]);
            }
            for (std::size_t w = 0; w < COUNT; ++w) store(x + w * apart + r, sum[w]);
        }
    }
}

void forward(const Columns& L, const double* inverse, const int* end, std::size_t n, double* x, std::size_t count,
             std::size_t apart) {
    for (; count >= TILE; count -= TILE, x += TILE * apart) forward_some<TILE>(L, inverse, end, n, x, apart);
    for (; count > 0; --count, x += apart) forward_some<1>(L, inverse, end, n, x, apart);
}

void backward(const Columns& L, const double* inverse, const int* end, std::size_t n, double* x) {
    for (std::size_t block = (n - 1) / BLOCK * BLOCK; block < n;
         block -= BLOCK) {  // the unsigned index wraps around at the end
        const std::size_t until = block + BLOCK < n ? block + BLOCK : n;
        const auto last = static_cast<std::size_t>(end[until - 1]);
        for (std::size_t c = block; c < until; c += TILE) {
            Lanes sum[TILE];
            for (std::size_t q = 0; q < TILE; ++q) sum[q] = same(0.0);
            for (std::size_t r = until; r < last; r += LANES)
                for (std::size_t q = 0; q < TILE; ++q) sum[q] = sum[q] + load(L[c + q] + r) * load(x + r);
            for (std::size_t q = 0; q < TILE && c + q < until; ++q) x[c + q] -= total(sum[q]);
        }
        for (std::size_t c = until; c-- > block;) {
            double value = x[c];
            for (std::size_t r = c + 1; r < until; ++r) value -= L[c][r] * x[r];
            x[c] = value * inverse[c];
        }
    }
}

double dot(const double* a, const double* b, std::size_t n) {
    Lanes sum = same(0.0);
    for (std::size_t j = 0; j < n; j += LANES) sum = sum + load(a + j) * load(b + j);
    return total(sum);
}

void add(double by, const double* a, double* to, std::size_t n) {
    const Lanes factor = same(by);
    for (std::size_t j = 0; j < n; j += LANES) store(to + j, load(to + j) + factor * load(a + j));
}

}  // namespace

extern const Sweeps COUNTERLEAF_SWEEPS{finish, update, forward, backward, dot, add};

}  // namespace counterleaf
