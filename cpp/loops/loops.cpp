// This file is compiled once per instruction set; COUNTERLEAF_LOOPS is the name of its table. It uses nothing from the standard
// library: the linker could merge functions of these files and run one on a machine that lacks its instructions.
#include "loops/loops.hpp"

#ifndef COUNTERLEAF_LOOPS
#define COUNTERLEAF_LOOPS loops
#endif

namespace counterleaf {
namespace {

void blend(const Grid& A, const double* weights, double* out) {
    for (std::size_t j = 0; j < A.columns; j += LANES) store(out + j, same(0.0));
    for (std::size_t t = 0; t < A.rows; ++t) {
        if (weights[t] == 0.0) continue;
        const Lanes w = same(weights[t]);
        const double* row = A[t];
        for (std::size_t j = 0; j < A.columns; j += LANES) store(out + j, load(out + j) + w * load(row + j));
    }
}

void blend_some(const Grid& A, const int* chosen, std::size_t count, const double* weights, double* out, double* sizes) {
    for (std::size_t j = 0; j < A.columns; j += LANES) {
        Lanes sum = same(0.0), size = same(0.0);
        for (std::size_t a = 0; a < count; ++a) {
            const Lanes term = same(weights[a]) * load(A[chosen[a]] + j);
            sum = sum + term;
            size = size + size_of(term);
        }
        store(out + j, sum);
        store(sizes + j, size);
    }
}

/// The features' responses to their prices, within their bounds.
COUNTERLEAF_INLINE Lanes respond_to(const Lanes& price, const Curves& c, std::size_t j) {
    const Lanes zero = same(0.0);
    const Lanes rise = larger(price - load(c.slope_up + j), zero), fall = smaller(price - load(c.slope_down + j), zero);
    const Lanes d = rise * load(c.compliance_up + j) + fall * load(c.compliance_down + j);
    return smaller(larger(d, load(c.lower + j)), load(c.upper + j));
}

/// How far features at d move per unit of price: 0 at the kink and at a bound.
COUNTERLEAF_INLINE Lanes compliance_at(const Lanes& d, const Curves& c, std::size_t j) {
    const Lanes zero = same(0.0);
    const Lanes free = where_less(zero, d, load(c.compliance_up + j), where_less(d, zero, load(c.compliance_down + j), zero));
    return where_less(load(c.lower + j), d, where_less(d, load(c.upper + j), free, zero), zero);
}

double respond(const double* price, const Curves& c, std::size_t n, double* delta, double* weight) {
    Lanes value = same(0.0);
    const Lanes zero = same(0.0);
    for (std::size_t j = 0; j < n; j += LANES) {
        const Lanes d = respond_to(load(price + j), c, j);
        const Lanes curve = where_less(zero, d, load(c.curve_up + j), load(c.curve_down + j));
        const Lanes slope = where_less(zero, d, load(c.slope_up + j), load(c.slope_down + j));
        store(delta + j, d);
        store(weight + j, compliance_at(d, c, j));
        value = value + (curve * d + slope) * d;
    }
    return total(value);
}

Sum dot(const double* a, const double* b, std::size_t n) {
    Lanes sum = same(0.0), size = same(0.0);
    for (std::size_t j = 0; j < n; j += LANES) {
        const Lanes term = load(a + j) * load(b + j);
        sum = sum + term;
        size = size + size_of(term);
    }
    return {total(sum), total(size)};
}

void gram(const Grid& A, const int* chosen, std::size_t count, const double* weight, double* scaled, const Grid& out) {
    for (std::size_t a = 0; a < count; ++a) {
        const double* first = A[chosen[a]];
        for (std::size_t j = 0; j < A.columns; j += LANES) store(scaled + j, load(weight + j) * load(first + j));
        for (std::size_t c = 0; c <= a; ++c) {
            const double* second = A[chosen[c]];
            Lanes sum = same(0.0);
            for (std::size_t j = 0; j < A.columns; j += LANES) sum = sum + load(second + j) * load(scaled + j);
            out[a][c] = total(sum);
        }
    }
}

Slope slope_at(double t, const double* price, const double* price_step, const Curves& c, std::size_t n) {
    Lanes sum = same(0.0), bend = same(0.0), size = same(0.0);
    const Lanes by = same(t);
    for (std::size_t j = 0; j < n; j += LANES) {
        const Lanes a = load(price_step + j), d = respond_to(load(price + j) + by * a, c, j), term = a * d;
        sum = sum + term;
        size = size + size_of(term);
        bend = bend + a * a * compliance_at(d, c, j);
    }
    return {total(sum), total(bend), total(size)};
}

/// phi(d) - price d at the features' responses to the price; adds the size of its terms to ``size``.
COUNTERLEAF_INLINE Lanes worth_at(const Lanes& price, const Curves& c, std::size_t j, Lanes& size) {
    const Lanes d = respond_to(price, c, j), zero = same(0.0);
    const Lanes curve = where_less(zero, d, load(c.curve_up + j), load(c.curve_down + j));
    const Lanes slope = where_less(zero, d, load(c.slope_up + j), load(c.slope_down + j));
    size = size + (size_of(curve * d) + size_of(slope) + size_of(price)) * size_of(d);
    return (curve * d + slope - price) * d;
}

Sum least(const double* price, const double* sizes, double spread, const Curves& c, std::size_t n) {
    Lanes sum = same(0.0), size = same(0.0);
    const Lanes by = same(spread);
    for (std::size_t j = 0; j < n; j += LANES) {
        const Lanes at = load(price + j), off = by * load(sizes + j);
        const Lanes below = worth_at(at - off, c, j, size), above = worth_at(at + off, c, j, size);
        sum = sum + smaller(below, above);
    }
    return {total(sum), total(size)};
}

double square(const double* a, std::size_t n) {
    Lanes sum = same(0.0);
    for (std::size_t j = 0; j < n; j += LANES) sum = sum + load(a + j) * load(a + j);
    return total(sum);
}

void divide(double* row, double by, std::size_t n) {
    const Lanes b = same(by);
    for (std::size_t j = 0; j < n; j += LANES) store(row + j, load(row + j) / b);
}

}  // namespace

extern const Loops COUNTERLEAF_LOOPS{blend, blend_some, respond, dot, gram, slope_at, least, square, divide};

}  // namespace counterleaf
