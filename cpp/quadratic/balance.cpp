#include "quadratic/balance.hpp"

#include "linear/dense.hpp"

namespace counterleaf {
namespace {

constexpr double RANK = 1e-12;   // singular values below this share of the largest count as 0
constexpr double NOISE = 1e-14;  // P has entries of size 1, so prices have the size of z; smaller values are rounding

class Balance {
public:
    Balance(const QuadraticProgram& program, const QuadraticState& state, const QuadraticProof& proof, Scratch& scratch)
        : p(program), piece(state.piece), lam(proof.lam), z(proof.y), scratch(scratch), frame(scratch),
          free(scratch.places(program.n())), place(scratch.places(program.n())), tight(scratch.places(program.m())),
          price(scratch.numbers(program.n())), size(scratch.numbers(program.n())) {
        std::ranges::copy(state.lam, lam.begin());
        std::ranges::copy(state.z, z.begin());
        std::ranges::fill(place, -1);
        for (std::size_t j = 0; j < p.n(); ++j)
            if (is_free(piece[j])) place[j] = static_cast<int>(count), free[count++] = static_cast<int>(j);
        for (std::size_t t = 0; t < p.m(); ++t)
            if (lam[t] != 0.0) tight[rows++] = static_cast<int>(t);
    }

    void run(const Stop& stop) {
        const Grid M = write_system();
        const LeastSquares system(M, RANK, scratch, stop);
        if (!system.is_ready()) return;
        const Numbers miss = scratch.numbers(count), step = scratch.numbers(M.columns);
        for (int again = 0; again < 2; ++again) {
            measure(miss);
            system.solve(miss, step);
            for (std::size_t i = 0; i < count; ++i) z[feature(i)] += step[i];
            for (std::size_t b = 0; b < rows; ++b) lam[static_cast<std::size_t>(tight[b])] += step[count + b];
        }
        const double far = largest_of(z), dear = std::max(far, largest_of(lam));
        for (double& one : z)
            if (std::fabs(one) < NOISE * far) one = 0.0;
        for (double& one : lam)
            if (std::fabs(one) < NOISE * dear) one = 0.0;
    }

private:
    std::size_t feature(std::size_t i) const { return static_cast<std::size_t>(free[i]); }

    /// 2 (P + curves) dz - A' dlam, one line per free feature; the unknowns are its change and the changes of the multipliers.
    Grid write_system() const {
        const Grid M = scratch.grid(count, padded(count + rows));
        std::fill_n(M.data, M.rows * M.columns, 0.0);
        for (std::size_t i = 0; i < count; ++i) {
            const auto [columns, values] = p.P[feature(i)];
            for (std::size_t k = 0; k < columns.size(); ++k) {
                const int at = place[static_cast<std::size_t>(columns[k])];
                if (at >= 0) M[i][at] = 2.0 * values[k];
            }
            M[i][i] += 2.0 * p.curve(feature(i), piece[feature(i)]);
        }
        for (std::size_t b = 0; b < rows; ++b) {
            const auto [columns, values] = p.rows[static_cast<std::size_t>(tight[b])];
            for (std::size_t k = 0; k < columns.size(); ++k) {
                const int at = place[static_cast<std::size_t>(columns[k])];
                if (at >= 0) M[static_cast<std::size_t>(at)][count + b] = -values[k];
            }
        }
        return M;
    }

    void measure(Numbers miss) const {
        std::ranges::fill(price, 0.0);
        std::ranges::fill(size, 0.0);
        for (std::size_t t = 0; t < p.m(); ++t) p.rows.add(t, lam[t], price, size);
        for (std::size_t i = 0; i < count; ++i) {
            const std::size_t j = feature(i);
            miss[i] = price[j] - 2.0 * (p.P.dot(j, z).total + p.curve(j, piece[j]) * z[j]) - p.slope(j, piece[j]);
        }
    }

    const QuadraticProgram& p;
    const std::span<const Piece> piece;
    const Numbers lam, z;
    Scratch& scratch;
    const Scratch::Frame frame;
    const Places free, place, tight;  // the free features, their positions or -1, the rows with a multiplier
    const Numbers price, size;
    std::size_t count = 0, rows = 0;
};

}  // namespace

void balance(const QuadraticProgram& program, const QuadraticState& state, const QuadraticProof& proof, Scratch& scratch,
             const Stop& stop) {
    Balance(program, state, proof, scratch).run(stop);
}

}  // namespace counterleaf
