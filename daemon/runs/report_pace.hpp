// When the reporter of runs reads and writes, and for which recording. Uses no clock.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace lagtrap::daemon {

// From 2,000 runs per second on, they are read every 2 ms. At a million per second, that fills a
// tenth of a 4 MiB ring.
class ReportPace {
  public:
    // True if it is worthwhile to let runs accumulate, after reading `taken` runs. `immediately`:
    // each run is wanted as soon as it is known.
    [[nodiscard]] bool runs_come_fast(std::uint64_t taken, bool immediately, std::uint64_t now_ns);

    // How long poll(2) waits; -1: until something happens. `due_ns` is when the batch must be
    // closed, nullopt if it is empty.
    [[nodiscard]] static int wait_ms(std::optional<std::uint64_t> due_ns, bool runs_accumulate,
                                     std::uint64_t now_ns);

  private:
    std::uint64_t read_ns_ = 0;
};

// The recording that runs of the current batch may belong to.
class BatchSession {
  public:
    // The recording that begins; empty if one has ended. Then the batch still belongs to it.
    void note(const std::string& session) {
        is_over_ = session.empty();
        if (!session.empty()) session_ = session;
    }
    [[nodiscard]] const std::string& of_batch() const { return session_; }
    // The next batch begins.
    void next() {
        if (std::exchange(is_over_, false)) session_.clear();
    }

  private:
    std::string session_;
    bool is_over_ = false;
};

// How many aborted runs may wait for the reporter.
inline constexpr std::size_t waiting_aborted_limit = 16'384;
[[nodiscard]] constexpr bool has_room_for_aborted(std::size_t waiting, std::size_t more) {
    return waiting + more <= waiting_aborted_limit;
}

}  // namespace lagtrap::daemon
