// A table that grows by lines of equal length which never move.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

namespace counterleaf {

/// Lines of equal length, one per state. They never move, so a span remains valid while lines are added.
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

    /// Make room for this number of lines; new lines hold T().
    void hold(std::size_t lines) {
        while (blocks_.size() << shift_ < lines) blocks_.push_back(std::make_unique<T[]>(width_ << shift_));
    }

private:
    std::size_t width_, shift_ = 4;
    std::vector<std::unique_ptr<T[]>> blocks_;
};

}  // namespace counterleaf
