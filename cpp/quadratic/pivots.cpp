#include "quadratic/pivots.hpp"

#include "linear/band.hpp"

namespace counterleaf {
namespace {

constexpr int STEPS = 200;
constexpr int NONE_WRONG = -1;
constexpr int PATIENCE = 12;         // rounds without fewer wrong pieces before they change one at a time
constexpr double ROUNDING = 1e-13;   // relative to its terms: a smaller number has no sign
constexpr double HOLDS = 1e-11;      // relative to its terms: a row that misses by less holds
constexpr double NEAR = 1e-9;        // relative to its terms: for given pieces, a row with less room counts as active
constexpr double LEAST = 2e-16;      // relative to the largest change or price: the rounding error of the others
constexpr double EXPLAINED = 1e-20;  // relative to its square: a row with a smaller rest depends on the other active rows

/// The slopes of phi to the right and to the left of a point.
struct Slopes {
    double right, left;
};

Slopes slopes_at(const Phi& phi, double at) {
    const double up = 2.0 * phi.curve_up * at + phi.slope_up, down = 2.0 * phi.curve_down * at + phi.slope_down;
    return {at >= 0.0 ? up : down, at <= 0.0 ? down : up};
}

class Pivots {
public:
    Pivots(const QuadraticProgram& program, Constants centre, const QuadraticState& state, Scratch& scratch)
        : p(program), m(program.m()), n(program.n()), centre(centre), piece(state.piece), lam(state.lam), z(state.z),
          scratch(scratch), frame(scratch), part(n, scratch), factor(program.P, scratch),
          Pz{scratch.numbers(n), scratch.numbers(n)}, diagonal(scratch.numbers(n)), price(scratch.numbers(n)),
          size(scratch.numbers(n)), target(scratch.numbers(m)), change(scratch.numbers(m)), known(scratch.numbers(m)),
          X(scratch.grid(m + 1, padded(n) + Factor::padding)), S(scratch.grid(m, m)), used(scratch.places(m)),
          active(scratch.places(m)), switched(scratch.places(m)), turned(scratch.values<Piece>(n)) {}

    QuadraticBound run(double limit, const QuadraticProof& proof, const Stop& stop) {
        activate();
        double bound = -INF;
        bool again = false;  // the pieces have not changed: solve for the residual only
        for (int step = 0; step < STEPS && !stop(); ++step) {
            if (!again) {
                lay_out();
                if (!factor.make(part, diagonal)) break;
                span_rows();
                std::ranges::fill(lam, 0.0);
            }
            for (int sweep = again || p.nearly_singular ? 2 : 1; sweep > 0; --sweep) correct();
            bound = keep(bound, step == 0, proof);
            judge();
            if (wrong == 0 && again) return {QuadraticStatus::Converged, bound};
            again = wrong == 0;
            if (again) continue;
            if (last_feature == NONE_WRONG && last_row == NONE_WRONG) break;  // a row fails, and no feature can change that
            move_on();
            if (bound > limit) return {QuadraticStatus::AboveLimit, bound};
        }
        return {QuadraticStatus::Stuck, bound};
    }

    bool run_once() {
        for (std::size_t t = 0; t < m; ++t) {
            const auto [off, terms] = miss(p, t, z);
            active[t] = t < p.equal || lam[t] > 0.0 || off <= NEAR * terms;
        }
        lay_out();
        if (!factor.make(part, diagonal)) return false;
        span_rows();
        std::ranges::fill(lam, 0.0);
        for (int sweep = 0; sweep < 3; ++sweep) correct();
        return true;
    }

private:
    /// Rows with a multiplier, or that the point misses, start as active; features leave pieces with an infinite bound.
    void activate() {
        for (std::size_t j = 0; j < n; ++j) {
            if (piece[j] == Piece::Low && p.lower[j] == -INF) piece[j] = Piece::Down;
            if (piece[j] == Piece::High && p.upper[j] == INF) piece[j] = Piece::Up;
        }
        for (std::size_t t = 0; t < m; ++t) {
            const auto [off, terms] = miss(p, t, z);
            active[t] = t < p.equal || lam[t] > 0.0 || off < -1e-9 * terms;
        }
    }

    /// Put the features on their pieces, the free ones at 0, and list the free ones.
    void lay_out() {
        part.clear();
        for (std::size_t j = 0; j < n; ++j) {
            z[j] = piece[j] == Piece::Low ? p.lower[j] : piece[j] == Piece::High ? p.upper[j] : 0.0;
            if (!is_free(piece[j])) continue;
            diagonal[part.size()] = 2.0 * p.curve(j, piece[j]) + 2.0 * p.pull[j];
            part.add(j);
        }
        part.reach(p.P);
        wide = padded(part.size());
        multiply(p.P, z, Pz);
    }

    /// Compute an orthonormal X with L^-1 A' = X' S' for the active rows; dependent rows are left out.
    void span_rows() {
        std::size_t listed = 0;
        for (std::size_t t = 0; t < m; ++t) {
            if (!active[t]) continue;
            used[listed] = static_cast<int>(t);
            std::fill_n(X[listed], wide + LANES, 0.0);
            part.add(p.rows[t], 1.0, X[listed++]);
        }
        factor.forward(X, listed);
        rank = 0;
        for (std::size_t i = 0; i < listed; ++i) {
            if (i != rank) std::copy_n(X[i], wide, X[rank]);
            used[rank] = used[i];
            rank += orthogonalise(X[rank]);
        }
    }

    /// Make x, line ``rank`` of X, orthonormal to the lines before it; false if it depends on them.
    bool orthogonalise(double* x) {
        const double whole = sweeps.dot(x, x, wide);
        double left = whole, *s = S[rank];
        std::fill_n(s, rank, 0.0);
        for (int pass = 0; pass < 2; ++pass) {  // a second pass if the first lost digits
            for (std::size_t b = 0; b < rank; ++b) {
                const double along = sweeps.dot(x, X[b], wide);
                sweeps.add(-along, X[b], x, wide);
                s[b] += along;
            }
            left = sweeps.dot(x, x, wide);
            if (left >= 1e-4 * whole || left <= EXPLAINED * whole) break;
        }
        if (!(left > EXPLAINED * whole && whole > 1e-20)) return false;
        s[rank] = std::sqrt(left);
        const double scale = 1.0 / s[rank];
        for (std::size_t i = 0; i < wide; ++i) x[i] *= scale;
        return true;
    }

    /// Solve K z = A' lam - slopes and A z = r on the free features and the used rows, for the current residual.
    void correct() {
        double* w = X[rank];
        for (std::size_t i = 0; i < part.size(); ++i) {
            const std::size_t j = part[i];
            w[i] = -2.0 * (Pz.value[j] + p.curve(j, piece[j]) * z[j] + p.pull[j] * (z[j] - centre[j])) - p.slope(j, piece[j]);
        }
        std::fill_n(w + part.size(), wide + LANES - part.size(), 0.0);
        for (std::size_t b = 0; b < rank; ++b) part.add(p.rows[row(b)], lam[row(b)], w);
        factor.forward({w, 1, X.columns}, 1);
        for (std::size_t b = 0; b < rank; ++b) {  // w moves along X until the rows hold
            target[b] = -miss(p, row(b), z).total;
            for (std::size_t c = 0; c < b; ++c) target[b] -= S[b][c] * target[c];
            target[b] /= S[b][b];
            change[b] = target[b] - sweeps.dot(X[b], w, wide);
            sweeps.add(change[b], X[b], w, wide);
        }
        for (std::size_t b = rank; b-- > 0;) {
            for (std::size_t c = b + 1; c < rank; ++c) change[b] -= S[c][b] * change[c];
            change[b] /= S[b][b];
            lam[row(b)] += change[b];
        }
        factor.backward(w);
        for (std::size_t i = 0; i < part.size(); ++i) z[part[i]] += w[i];
        multiply(p.P, z, Pz);
    }

    std::size_t row(std::size_t b) const { return static_cast<std::size_t>(used[b]); }

    /// Keep the better of the bound and the bound that the multipliers and the tangent at z prove.
    double keep(double bound, bool first, const QuadraticProof& proof) {
        std::ranges::copy(lam, known.begin());
        const double proved = prove(p, {known, z}, Pz, scratch);
        if (!(proved > bound || first)) return bound;
        std::ranges::copy(known, proof.lam.begin());
        std::ranges::copy(z, proof.y.begin());
        return proved;
    }

    /// Find the pieces on which features and rows belong, and count the wrong ones.
    void judge() {
        for (std::size_t j = 0; j < n; ++j) {
            const double total = 2.0 * Pz.value[j] + 2.0 * p.pull[j] * (z[j] - centre[j]);
            price[j] = -total, size[j] = std::fabs(total);
        }
        for (std::size_t t = 0; t < m; ++t)
            if (lam[t] != 0.0) p.rows.add(t, lam[t], price, size);
        for (std::size_t j = 0; j < n; ++j) turned[j] = belongs(j);
        wrong = 0, last_feature = last_row = NONE_WRONG;
        const double least = LEAST * largest_of(z), idle = LEAST * largest_of(size);
        for (std::size_t t = 0; t < m; ++t) judge_row(t, least, idle);
        for (std::size_t j = 0; j < n; ++j)
            if (turned[j] != piece[j]) ++wrong, last_feature = static_cast<int>(j);
    }

    /// ``least`` bounds the rounding of a row whose terms are all small, ``idle`` that of a multiplier of 0.
    void judge_row(std::size_t t, double least, double idle) {
        const auto [off, terms] = miss(p, t, z);
        const double tolerance = HOLDS * terms + least;
        switched[t] = active[t];
        if (!active[t]) {
            switched[t] = off < -(ROUNDING * terms + least);
        } else if (lam[t] != 0.0) {
            switched[t] = t < p.equal || lam[t] > -idle;
        } else if (off < -tolerance || (t < p.equal && off > tolerance)) {
            ++wrong;
            for (std::size_t j = 0; j < n; ++j)  // no free feature can repair this row: free them all
                if (p.can_move(j) && !is_free(piece[j])) turned[j] = z[j] >= 0.0 ? Piece::Up : Piece::Down;
        }
        if (switched[t] != active[t]) ++wrong, last_row = static_cast<int>(t);
    }

    /// The piece on which a feature belongs at its price.
    Piece belongs(std::size_t j) const {
        const double lower = p.lower[j], upper = p.upper[j];
        const Phi phi = p.phi(j);
        if (lower >= upper) return Piece::Low;
        if (is_free(piece[j])) {
            if (z[j] < lower) return Piece::Low;
            if (z[j] > upper) return Piece::High;
            if (piece[j] == Piece::Up ? z[j] >= 0.0 : z[j] <= 0.0) return piece[j];
            if (phi.slope_up > phi.slope_down) return Piece::Kink;
            if (phi.curve_up == phi.curve_down) return piece[j];  // both pieces are the same
            return piece[j] == Piece::Up ? Piece::Down : Piece::Up;
        }
        if (piece[j] == Piece::Kink && lower > 0.0) return Piece::Low;  // the box was narrowed since
        if (piece[j] == Piece::Kink && upper < 0.0) return Piece::High;
        const double at = piece[j] == Piece::Kink ? 0.0 : piece[j] == Piece::Low ? lower : upper;
        const auto [right, left] = slopes_at(phi, at);
        const double noise = ROUNDING * (size[j] + std::fabs(right) + std::fabs(left));
        if (piece[j] != Piece::High && price[j] > right + noise) return at >= 0.0 ? Piece::Up : Piece::Down;
        if (piece[j] != Piece::Low && price[j] < left - noise) return at <= 0.0 ? Piece::Down : Piece::Up;
        return piece[j];
    }

    /// Switch all wrong pieces, or only the last one if that has not helped for a while.
    void move_on() {
        if (wrong < fewest)
            fewest = wrong, patience = PATIENCE;
        else
            --patience;
        if (patience > 0) {
            std::ranges::copy(turned, piece.begin());
            std::ranges::copy(switched, active.begin());
        } else if (last_row != NONE_WRONG) {
            active[last_row] = switched[last_row];
        } else {
            piece[last_feature] = turned[last_feature];
        }
    }

    const QuadraticProgram& p;
    const std::size_t m, n;
    const Constants centre;
    const std::span<Piece> piece;
    const Numbers lam, z;
    Scratch& scratch;
    const Scratch::Frame frame;
    Part part;  // the free features
    Factor factor;
    const Product Pz;                     // of the current z
    const Numbers diagonal, price, size;  // per feature
    const Numbers target, change, known;  // per row
    const Grid X, S;                      // lines of X: a number per free feature
    const Places used, active, switched;  // the rows of X; per row: 0 or 1
    const std::span<Piece> turned;
    std::size_t rank = 0, wide = 0;  // lines of X, and their padded length
    std::size_t wrong = 0, fewest = std::numeric_limits<std::size_t>::max();
    int last_feature = NONE_WRONG, last_row = NONE_WRONG;  // the last wrong feature and row
    int patience = PATIENCE;
};

}  // namespace

QuadraticBound pivot(const QuadraticProgram& program, Constants centre, double limit, const QuadraticState& state,
                     const QuadraticProof& proof, Scratch& scratch, const Stop& stop) {
    return Pivots(program, centre, state, scratch).run(limit, proof, stop);
}

bool solve_on_pieces(const QuadraticProgram& program, Constants centre, const QuadraticState& state, Scratch& scratch) {
    return Pivots(program, centre, state, scratch).run_once();
}

}  // namespace counterleaf
