// The tools of every binding: array arguments, checks of them, arrays for Python, the limits of a search, and Ctrl-C.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include "base/numbers.hpp"
#include "base/stopping.hpp"
#include "search/search.hpp"

namespace counterleaf {

namespace nb = nanobind;

template <class T>
using Line = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Table = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class T, std::size_t N>
using Made = nb::ndarray<nb::numpy, T, nb::ndim<N>>;

template <class T>
std::span<const T> span_of(const Line<T>& line) {
    return {line.data(), line.size()};
}

template <class T>
std::span<const T> row_of(const Table<T>& table, std::size_t k) {
    return {table.data() + k * table.shape(1), table.shape(1)};
}

/// The order of the lines in an array of costs, and of the bounds that may follow them.
enum CostLine : std::size_t { CURVE_UP, SLOPE_UP, CURVE_DOWN, SLOPE_DOWN, COSTS, LOWER = COSTS, UPPER, COSTS_AND_BOUNDS };

/// The core trusts its arguments: a binding checks every number that becomes an index, and reports the problem.
inline void expect(bool holds, const char* otherwise) {
    if (!holds) throw std::invalid_argument(otherwise);
}

inline bool are_finite(Constants numbers) {
    return std::ranges::all_of(numbers, [](double x) { return std::isfinite(x); });
}

/// Whether all numbers are in first .. stop - 1.
inline bool are_within(const Line<std::int64_t>& places, std::int64_t first, std::size_t stop) {
    return std::ranges::all_of(span_of(places),
                               [&](std::int64_t at) { return first <= at && (at < 0 || static_cast<std::size_t>(at) < stop); });
}

/// Whether every node but node 0 is the child of exactly one node and descends from node 0; a leaf has two negative children.
inline bool is_tree(const Line<std::int64_t>& left, const Line<std::int64_t>& right) {
    const std::size_t n = left.size();
    if (n == 0 || n > std::numeric_limits<int>::max() || right.size() != n) return false;
    std::vector<bool> has_parent(n, false);
    std::vector<std::size_t> open{0};
    std::size_t reached = 0;
    while (!open.empty()) {
        const std::size_t node = open.back();
        open.pop_back();
        ++reached;
        if (left(node) < 0 && right(node) < 0) continue;
        for (const std::int64_t child : {left(node), right(node)}) {
            const auto at = static_cast<std::size_t>(child);
            if (child <= 0 || at >= n || has_parent[at]) return false;
            has_parent[at] = true;
            open.push_back(at);
        }
    }
    return reached == n;
}

/// An array for Python; its numbers are uninitialised at first.
template <class T, std::size_t N>
class Array {
public:
    explicit Array(std::array<std::size_t, N> shape)
        : shape_(shape), numbers_(std::make_unique_for_overwrite<T[]>(
                             std::accumulate(shape.begin(), shape.end(), std::size_t{1}, std::multiplies<>()))) {}

    T& operator[](std::size_t k) { return numbers_[k]; }
    std::span<T> line(std::size_t k)
        requires(N == 2)
    {
        return {numbers_.get() + k * shape_[1], shape_[1]};
    }
    Made<T, N> hand_over() {
        T* data = numbers_.get();
        nb::capsule owner(data, [](void* numbers) noexcept { delete[] static_cast<T*>(numbers); });
        numbers_.release();
        return {data, N, shape_.data(), owner};
    }

private:
    std::array<std::size_t, N> shape_;
    std::unique_ptr<T[]> numbers_;
};

/// Whether a signal such as Ctrl-C has arrived. Its exception is then set: throw ``nb::python_error`` once the GIL is held.
inline bool is_interrupted() {
    const nb::gil_scoped_acquire locked;
    return PyErr_CheckSignals() != 0;
}

inline constexpr std::size_t ALL = std::numeric_limits<std::size_t>::max();

/// The limits of a search.
struct BoundBudget {
    Budget limits;
    std::optional<double> seconds;
    std::shared_ptr<const StopFlag> stop;

    StopCheck stop_check() const {
        StopCheck::Deadline deadline;
        if (seconds)
            deadline = StopCheck::Clock::now() + std::chrono::duration_cast<StopCheck::Clock::duration>(
                                                     std::chrono::duration<double>(std::min(*seconds, 1e9)));
        return StopCheck(deadline, stop ? &stop->flag : nullptr, is_interrupted);
    }
};

inline BoundBudget make_budget(std::optional<std::size_t> count, std::optional<std::size_t> nodes,
                               std::optional<double> seconds, bool keep, std::shared_ptr<const StopFlag> stop) {
    expect(count.value_or(1) > 0, "there must be at least one answer to look for");
    return {{count.value_or(ALL), nodes.value_or(ALL), keep}, seconds, std::move(stop)};
}

}  // namespace counterleaf
