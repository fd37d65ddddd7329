// When to stop early: the deadline has passed, another thread sets a flag, or the user presses Ctrl-C.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>

namespace counterleaf {

enum class StopReason : std::int8_t { None, Deadline, Stopped, Interrupted };

/// A flag with which one thread stops the work of another.
struct StopFlag {
    std::atomic<bool> flag{false};
};

/// Call ``is_due`` every few microseconds or milliseconds. Once it returns true it always does, and ``reason`` returns the
/// reason.
class StopCheck {
public:
    using Clock = std::chrono::steady_clock;
    using Deadline = std::optional<Clock::time_point>;

    /// ``stopped`` is a flag that another thread sets. ``interrupted`` returns whether a signal has arrived. It may be slow; it
    /// is called by the thread that calls ``is_due``, and never within the first PAUSE.
    explicit StopCheck(Deadline deadline = {}, const std::atomic<bool>* stopped = nullptr,
                       std::function<bool()> interrupted = {})
        : deadline_(deadline), stopped_(stopped), interrupted_(std::move(interrupted)), looked_(Clock::now()),
          polled_(looked_) {}

    /// As ``look``, but most calls read the flag and not the clock.
    bool is_due() {
        if (reason_ == StopReason::None && is_stopped()) reason_ = StopReason::Stopped;
        return reason_ != StopReason::None || (--calls_ <= 0 && look());
    }

    /// Check the flag, the clock and, at most once per PAUSE, for signals.
    bool look() {
        if (reason_ != StopReason::None) return true;
        const Clock::time_point now = Clock::now();
        calls_ = now - looked_ < SHORT ? CALLS : 1;
        looked_ = now;
        if (is_stopped()) {
            reason_ = StopReason::Stopped;
        } else if (deadline_ && now >= *deadline_) {
            reason_ = StopReason::Deadline;
        } else if (interrupted_ && now - polled_ >= PAUSE) {
            polled_ = now;
            if (interrupted_()) reason_ = StopReason::Interrupted;
        }
        return reason_ != StopReason::None;
    }

    StopReason reason() const { return reason_; }

private:
    bool is_stopped() const { return stopped_ != nullptr && stopped_->load(std::memory_order_relaxed); }

    static constexpr int CALLS = 8;  // calls in quick succession that share one look at the clock
    static constexpr std::chrono::milliseconds SHORT{1}, PAUSE{40};

    Deadline deadline_;
    const std::atomic<bool>* stopped_;
    std::function<bool()> interrupted_;
    Clock::time_point looked_, polled_;
    int calls_ = 1;
    StopReason reason_ = StopReason::None;
};

}  // namespace counterleaf
