#include "bound/lattice.hpp"

#include <cmath>
#include <cstdlib>
#include <numeric>
#include <optional>

namespace counterleaf {
namespace {

using Whole = std::int64_t;

constexpr double FINEST = 1e6;      // the largest denominator of a coefficient
constexpr double LARGEST = 0x1p53;  // whole numbers below this are exact as doubles

/// Integer arithmetic that records overflow; after a failure all results are meaningless.
class Exact {
public:
    bool failed = false;

    Whole times(Whole a, Whole b) {
        const double size = std::fabs(static_cast<double>(a)) * std::fabs(static_cast<double>(b));
        if (size < LARGEST) return a * b;
        failed = true;
        return 0;
    }
    /// a - b c.
    Whole less(Whole a, Whole b, Whole c) { return checked(a - times(b, c)); }
    Whole least_multiple(Whole a, Whole b) { return times(a / std::gcd(a, b), b); }
    Whole checked(Whole a) {
        if (std::fabs(static_cast<double>(a)) >= LARGEST) failed = true;
        return failed ? 0 : a;
    }
};

struct Fraction {
    Whole numerator = 0, denominator = 1;
};

/// The fraction in lowest terms, reduced modulo 1 to the range from -1/2 to 1/2.
Fraction rest_of(Whole numerator, Whole denominator) {
    if (denominator < 0) numerator = -numerator, denominator = -denominator;
    numerator %= denominator;
    if (2 * numerator > denominator) numerator -= denominator;
    if (2 * numerator < -denominator) numerator += denominator;
    const Whole common = std::gcd(numerator, denominator);
    return {numerator / common, denominator / common};
}

/// The simplest fraction that rounds to this double, by continued fractions.
std::optional<Fraction> simplest(double number) {
    double rest = std::fabs(number);
    if (!(rest < LARGEST)) return {};
    double numerator = 1.0, denominator = 0.0, last_numerator = 0.0, last_denominator = 1.0;
    for (int k = 0; k < 40; ++k) {
        const double whole = std::floor(rest);
        const double next_numerator = whole * numerator + last_numerator,
                     next_denominator = whole * denominator + last_denominator;
        if (next_denominator > FINEST || next_numerator >= LARGEST) return {};
        last_numerator = numerator, last_denominator = denominator, numerator = next_numerator, denominator = next_denominator;
        if (numerator / denominator == std::fabs(number)) {
            const auto top = static_cast<Whole>(numerator);
            return Fraction{number < 0.0 ? -top : top, static_cast<Whole>(denominator)};
        }
        rest = 1.0 / (rest - whole);
    }
    return {};
}

bool is_off_grid(const Step& step, double number) {
    return std::nearbyint(number / step.numerator * step.denominator) * step.numerator / step.denominator != number;
}

/// The equalities over the variables that can move in a box, with integer coefficients.
class Equalities {
public:
    Equalities(const Question& question, const Box& box);

    Divisibility solve(Numbers numerator);

private:
    struct Line {
        std::vector<Whole> row;   // coefficients of ``columns_``
        std::vector<Whole> from;  // the multiples of the user's equalities of which it is the sum
    };

    void add(std::size_t t);
    std::optional<Fraction> unit_of(int d) const;
    void choose_columns();
    void eliminate();
    void triangulate();
    bool reduce(std::size_t i, std::size_t pivot);
    bool combine(std::size_t i, std::vector<Fraction>& y);
    bool is_proof(const std::vector<Fraction>& y, Numbers numerator, double& denominator);
    int off_grid_in(Constants numerator) const;

    const Question& question_;
    const Box& box_;
    Exact exact_;
    std::vector<int> columns_;  // variables that can move, first those without a grid
    std::vector<int> place_;    // the column of a variable, or -1
    std::size_t free_ = 0;      // the number of columns without a grid
    std::vector<Line> lines_;
    std::vector<double> constant_, tolerance_;  // per equality: its constant, and the part of it that may be rounding
};

Equalities::Equalities(const Question& question, const Box& box) : question_(question), box_(box) {
    const std::size_t equal = question.limits.equal;
    std::vector<double> fixed(question.features.width(), 0.0);
    for (std::size_t d = 0; d < fixed.size(); ++d)
        if (!box.can_move(d)) fixed[d] = box.lower(d);
    choose_columns();
    for (std::size_t t = 0; t < equal; ++t) {
        const Terms terms = question.limits.rows[t];
        constant_.push_back(terms.exactly_at(fixed));
        tolerance_.push_back(
            std::max(question.tolerance(question.user_row(t)), rounding_tolerance(terms, terms.size_at(fixed))));
        add(t);
    }
}

/// The unit in which variable d is an integer, if there is one.
std::optional<Fraction> Equalities::unit_of(int d) const {
    if (!question_.layout.is_number(d)) return Fraction{1, 1};
    const Step& step = question_.layout.step[d];
    const bool is_whole = step.numerator == std::floor(step.numerator) && step.denominator == std::floor(step.denominator);
    if (step.numerator == 0.0 || !is_whole || step.numerator >= LARGEST || step.denominator > FINEST) return {};
    return Fraction{static_cast<Whole>(step.numerator), static_cast<Whole>(step.denominator)};
}

void Equalities::choose_columns() {
    std::vector<char> is_named(question_.features.width(), false);
    for (std::size_t t = 0; t < question_.limits.equal; ++t)
        for (int d : question_.limits.rows[t].columns) is_named[d] = box_.can_move(d);
    place_.assign(is_named.size(), -1);
    for (bool whole : {false, true}) {
        for (std::size_t d = 0; d < is_named.size(); ++d) {
            if (!is_named[d] || unit_of(static_cast<int>(d)).has_value() != whole) continue;
            place_[d] = static_cast<int>(columns_.size());
            columns_.push_back(static_cast<int>(d));
        }
        if (!whole) free_ = columns_.size();
    }
}

/// Add equality t times the smallest number that makes its coefficients integers; skip it if they are not simple fractions.
void Equalities::add(std::size_t t) {
    const Terms terms = question_.limits.rows[t];
    std::vector<Fraction> found(columns_.size());
    Exact exact;
    Whole denominator = 1;
    for (std::size_t k = 0; k < terms.size(); ++k) {
        const int d = terms.columns[k];
        if (place_[d] < 0) continue;
        const std::optional<Fraction> weight = simplest(terms.weights[k]);
        if (!weight) return;
        const Fraction unit = unit_of(d).value_or(Fraction{1, 1});
        Whole top = exact.times(weight->numerator, unit.numerator), bottom = exact.times(weight->denominator, unit.denominator);
        if (exact.failed) return;
        const Whole common = std::gcd(top, bottom);
        top /= common, bottom /= common;
        found[place_[d]] = {top, bottom};
        denominator = exact.least_multiple(denominator, bottom);
        if (exact.failed) return;
    }
    Line line{std::vector<Whole>(columns_.size()), std::vector<Whole>(question_.limits.equal, 0)};
    for (std::size_t j = 0; j < found.size(); ++j)
        line.row[j] = exact.times(found[j].numerator, denominator / found[j].denominator);
    line.from[t] = denominator;
    if (!exact.failed) lines_.push_back(std::move(line));
}

/// Eliminate the variables without a grid, each by one line that is then removed.
void Equalities::eliminate() {
    for (std::size_t j = 0; j < free_ && !exact_.failed; ++j) {
        const auto pivot = std::ranges::find_if(lines_, [&](const Line& line) { return line.row[j] != 0; });
        if (pivot == lines_.end()) continue;
        const Line by = std::move(*pivot);
        lines_.erase(pivot);
        for (Line& line : lines_) {
            if (line.row[j] == 0) continue;
            const Whole common = std::gcd(line.row[j], by.row[j]), up = by.row[j] / common, down = line.row[j] / common;
            Whole all = 0;
            const auto mix = [&](std::vector<Whole>& to, const std::vector<Whole>& with) {
                for (std::size_t k = 0; k < to.size(); ++k) {
                    to[k] = exact_.less(exact_.times(up, to[k]), down, with[k]);
                    all = std::gcd(all, to[k]);
                }
            };
            mix(line.row, by.row);
            mix(line.from, by.from);
            if (exact_.failed) return;
            for (std::vector<Whole>* part : {&line.row, &line.from})
                for (Whole& one : *part) one /= all;
        }
    }
}

/// By integer column operations, make line i zero behind column ``pivot`` and positive there; false if it is zero there too.
bool Equalities::reduce(std::size_t i, std::size_t pivot) {
    const auto size = [&](std::size_t j) { return std::abs(lines_[i].row[j]); };
    while (!exact_.failed) {
        std::size_t least = columns_.size(), others = 0;
        for (std::size_t j = pivot; j < columns_.size(); ++j) {
            if (size(j) == 0) continue;
            ++others;
            if (least == columns_.size() || size(j) < size(least)) least = j;
        }
        if (others == 0) return false;
        for (std::size_t l = i; l < lines_.size(); ++l) std::swap(lines_[l].row[pivot], lines_[l].row[least]);
        if (others == 1) break;
        for (std::size_t j = pivot + 1; j < columns_.size(); ++j) {
            const Whole times = lines_[i].row[j] / lines_[i].row[pivot];
            if (times == 0) continue;
            for (std::size_t l = i; l < lines_.size(); ++l)
                lines_[l].row[j] = exact_.less(lines_[l].row[j], times, lines_[l].row[pivot]);
        }
    }
    if (lines_[i].row[pivot] < 0)
        for (std::size_t l = i; l < lines_.size(); ++l) lines_[l].row[pivot] = -lines_[l].row[pivot];
    return true;
}

/// Compute the Hermite normal form; dependent lines are removed.
void Equalities::triangulate() {
    for (std::size_t i = 0; i < lines_.size() && !exact_.failed;) {
        if (reduce(i, free_ + i))
            ++i;
        else
            lines_.erase(lines_.begin() + static_cast<std::ptrdiff_t>(i));
    }
}

/// Multiples of the lines 0 to i that add up to integer coefficients: a line of the inverse of H, modulo 1.
bool Equalities::combine(std::size_t i, std::vector<Fraction>& y) {
    y.assign(lines_.size(), {});
    y[i] = rest_of(1, lines_[i].row[free_ + i]);
    for (std::size_t j = i; j-- > 0;) {
        Fraction sum;
        for (std::size_t l = j + 1; l <= i; ++l) {
            const Whole denominator = exact_.least_multiple(sum.denominator, y[l].denominator);
            if (exact_.failed) return false;
            const Whole one = exact_.times(sum.numerator, denominator / sum.denominator),
                        all = exact_.times(y[l].numerator, denominator / y[l].denominator);
            sum = {exact_.less(one, -all, lines_[l].row[free_ + j]), denominator};
            if (exact_.failed) return false;
        }
        const Whole denominator = exact_.times(sum.denominator, lines_[j].row[free_ + j]);
        if (exact_.failed) return false;
        y[j] = rest_of(-sum.numerator, denominator);
    }
    return true;
}

/// Whether the constant of a combination is not an integer; writes the combination in terms of the user's equalities.
bool Equalities::is_proof(const std::vector<Fraction>& y, Numbers numerator, double& denominator) {
    Whole common = 1;
    for (const Fraction& one : y) {
        common = exact_.least_multiple(common, one.denominator);
        if (exact_.failed) return false;
    }
    std::ranges::fill(numerator, 0.0);
    double value = 0.0, tolerance = 0.0;
    for (std::size_t t = 0; t < constant_.size(); ++t) {
        Whole times = 0;
        for (std::size_t i = 0; i < y.size(); ++i)
            times = exact_.less(times, -exact_.times(y[i].numerator, common / y[i].denominator), lines_[i].from[t]);
        if (exact_.failed) return false;
        numerator[t] = static_cast<double>(times);
        denominator = static_cast<double>(common);
        value += std::fmod(numerator[t] * constant_[t], denominator) / denominator;
        tolerance += std::fabs(numerator[t]) / denominator * tolerance_[t];
    }
    return std::fabs(value - std::nearbyint(value)) > tolerance;
}

/// A variable of a combination whose source is off its grid and still in the box; -1 if there is none.
int Equalities::off_grid_in(Constants numerator) const {
    for (std::size_t t = 0; t < constant_.size(); ++t) {
        if (numerator[t] == 0.0) continue;
        for (int d : question_.limits.rows[t].columns) {
            const Step& step = question_.layout.step[d];
            const double source = question_.features.source[d];
            if (step.numerator != 0.0 && box_.can_move(d) && box_.holds(d, source) && is_off_grid(step, source)) return d;
        }
    }
    return -1;
}

Divisibility Equalities::solve(Numbers numerator) {
    eliminate();
    triangulate();
    std::vector<Fraction> y;
    for (std::size_t i = 0; i < lines_.size() && !exact_.failed; ++i) {
        double denominator = 0.0;
        if (!combine(i, y) || !is_proof(y, numerator, denominator)) continue;
        const int off_grid = off_grid_in(numerator);
        return off_grid < 0 ? Divisibility{.denominator = denominator} : Divisibility{.off_grid = off_grid};
    }
    return {};
}

}  // namespace

Divisibility divide(const Question& question, const Box& box, Numbers numerator) {
    if (question.limits.equal == 0 || question.layout.plain) return {};
    return Equalities(question, box).solve(numerator);
}

}  // namespace counterleaf
