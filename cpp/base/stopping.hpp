// When to end before the work is done: the time is over, another thread says so, or the user pressed Ctrl-C.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>

namespace counterleaf {

enum class StopReason : std::int8_t { None, Deadline, Stopped, Interrupted };

/// What a thread sets to end the work of another one.
struct StopFlag {
    std::atomic<bool> flag{false};
};

/// Call ``is_due`` every few microseconds or milliseconds; once it holds, it goes on to hold, and ``halt`` says why.
class StopCheck {
public:
    using Clock = std::chrono::steady_clock;
    using Deadline = std::optional<Clock::time_point>;

    /// ``stopped`` is a flag that another thread sets. ``interrupted`` says whether a signal has arrived; it may be slow, and
    /// only the thread that calls ``is_due`` calls it, never within the first PAUSE.
    explicit StopCheck(Deadline deadline = {}, const std::atomic<bool>* stopped = nullptr,
                       std::function<bool()> interrupted = {})
        : deadline_(deadline), stopped_(stopped), interrupted_(std::move(interrupted)), looked_(Clock::now()),
          polled_(looked_) {}

    /// As ``look``, but most calls read the flag alone and not the clock.
    bool is_due() {
        if (reason_ == StopReason::None && is_stopped()) reason_ = StopReason::Stopped;
        return reason_ != StopReason::None || (--calls_ <= 0 && look());
    }

    /// Look at the flag, the clock and, at most once per PAUSE, for signals.
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

    static constexpr int CALLS = 8;  // that follow each other quickly and share one look at the clock
    static constexpr std::chrono::milliseconds SHORT{1}, PAUSE{40};

    Deadline deadline_;
    const std::atomic<bool>* stopped_;
    std::function<bool()> interrupted_;
    Clock::time_point looked_, polled_;
    int calls_ = 1;
    StopReason reason_ = StopReason::None;
};

}  // namespace counterleaf
