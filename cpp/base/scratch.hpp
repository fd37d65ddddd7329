// Views of numbers that somebody else owns, and room for those that are needed for a moment.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <type_traits>
#include <vector>

#include "loops/loops.hpp"

namespace counterleaf {

inline constexpr double INF = std::numeric_limits<double>::infinity();
inline constexpr double NONE = std::numeric_limits<double>::quiet_NaN();

using Numbers = std::span<double>;
using Constants = std::span<const double>;
using Places = std::span<int>;

/// The largest size of some numbers.
inline double largest_of(Constants x) {
    double largest = 0.0;
    for (double one : x) largest = std::max(largest, std::fabs(one));
    return largest;
}

/// Room that is taken from the front and given back all at once, when the ``Frame`` that was opened before ends.
/// It grows in blocks and never moves, so that what was taken stays good.
class Scratch {
public:
    class Frame {
    public:
        explicit Frame(Scratch& room) : room_(room), block_(room.block_), used_(room.used_) {}
        Frame(const Frame&) = delete;
        Frame& operator=(const Frame&) = delete;
        ~Frame() { room_.block_ = block_, room_.used_ = used_; }

    private:
        Scratch& room_;
        std::size_t block_, used_;
    };

    Scratch() = default;
    Scratch(const Scratch&) = delete;
    Scratch& operator=(const Scratch&) = delete;

    Numbers numbers(std::size_t n) { return {take(n), n}; }
    Grid grid(std::size_t rows, std::size_t columns) { return {take(rows * columns), rows, columns}; }
    Places places(std::size_t n) { return {reinterpret_cast<int*>(take((n + 1) / 2)), n}; }
    /// Room for any small value type.
    template <class T>
    std::span<T> values(std::size_t n) {
        static_assert(std::is_trivially_copyable_v<T> && alignof(T) <= alignof(double));
        return {reinterpret_cast<T*>(take((n * sizeof(T) + sizeof(double) - 1) / sizeof(double))), n};
    }

private:
    struct Block {
        std::unique_ptr<double[]> numbers;
        std::size_t size;
    };

    double* take(std::size_t n) {
        n = (n + 7) & ~std::size_t{7};
        while (block_ < blocks_.size() && used_ + n > blocks_[block_].size) ++block_, used_ = 0;
        if (block_ == blocks_.size()) {
            const std::size_t size = std::max(n, blocks_.empty() ? FIRST : 2 * blocks_.back().size);
            blocks_.push_back({std::make_unique_for_overwrite<double[]>(size), size});
            used_ = 0;
        }
        double* found = blocks_[block_].numbers.get() + used_;
        used_ += n;
        return found;
    }

    static constexpr std::size_t FIRST = 4096;
    std::vector<Block> blocks_;
    std::size_t block_ = 0, used_ = 0;
};

/// Lines of equal length, one per state; they never move, so that a span stays good while others are added.
template <class T>
class Lines {
public:
    explicit Lines(std::size_t width) : width_(width) {
        while (shift_ < 8 && (width << (shift_ + 1)) <= 8192) ++shift_;
    }

    Lines(const Lines& other) : width_(other.width_), shift_(other.shift_) {
        for (const auto& block : other.blocks_) {
            blocks_.push_back(std::make_unique_for_overwrite<T[]>(width_ << shift_));
            std::copy_n(block.get(), width_ << shift_, blocks_.back().get());
        }
    }
    Lines(Lines&&) noexcept = default;
    Lines& operator=(Lines&&) noexcept = default;

    std::size_t width() const { return width_; }

    std::span<T> operator[](std::size_t line) const {
        return {blocks_[line >> shift_].get() + (line & ((std::size_t{1} << shift_) - 1)) * width_, width_};
    }

    /// Make room for a number of lines; every new one holds T().
    void hold(std::size_t lines) {
        while (blocks_.size() << shift_ < lines) blocks_.push_back(std::make_unique<T[]>(width_ << shift_));
    }

private:
    std::size_t width_, shift_ = 4;
    std::vector<std::unique_ptr<T[]>> blocks_;
};

}  // namespace counterleaf
