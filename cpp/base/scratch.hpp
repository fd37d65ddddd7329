// Scratch memory for the numbers of one call, used as a stack.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <type_traits>
#include <vector>

#include "base/numbers.hpp"
#include "loops/loops.hpp"

namespace counterleaf {

/// Memory that is taken piece by piece and given back all at once when the ``Frame`` opened before ends. It grows in blocks and
/// never moves, so spans remain valid.
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
    /// Memory for any small value type.
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

}  // namespace counterleaf
