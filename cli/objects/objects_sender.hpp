// Puts the daemon's object trace into the spool part by part, so that somebody elsewhere can follow
// it through the server.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "spool/spool.hpp"
#include "trace/run_batches/run_batch.hpp"

namespace lagtrap::cli {

class ObjectsSender {
  public:
    using Clock = std::chrono::steady_clock;
    // A part is written after this time, or earlier after this many bytes.
    static constexpr std::chrono::milliseconds part_time{1'000};
    static constexpr std::size_t part_bytes = 512 << 10;
    // Parts in the spool that nobody has collected. Beyond that, lines are lost and counted.
    static constexpr std::size_t max_waiting = 64;

    // ErrorKind::NotFound if there is no such spool, Denied if this user may not write there.
    [[nodiscard]] static Result<ObjectsSender> open(const std::string& spool, std::uint32_t pid,
                                                    std::string process);

    [[nodiscard]] const std::string& watch_id() const { return watch_id_; }
    // Adds a line, without its end. On a write error, the lines of that part are lost.
    [[nodiscard]] Status add(const std::string& line, Clock::time_point now);
    // Writes the last part.
    [[nodiscard]] Status end();
    [[nodiscard]] std::uint64_t parts() const { return parts_; }
    [[nodiscard]] std::uint64_t lost_lines() const { return lost_in_all_; }

  private:
    ObjectsSender(spool::Spool spool, std::uint32_t pid, std::string process);
    [[nodiscard]] Status write(bool last);
    [[nodiscard]] Status write_part(const std::vector<std::string>& lines, bool last);
    [[nodiscard]] std::size_t waiting();
    void lose(std::uint64_t lines);

    spool::Spool spool_;
    std::string watch_id_;
    std::string host_, boot_id_;
    std::uint32_t pid_;
    std::string process_;
    std::vector<std::string> lines_;
    std::size_t bytes_ = 0;
    Clock::time_point since_;
    std::uint32_t parts_ = 0;
    // lost_lines_ are those not yet reported in a part
    std::uint64_t lost_lines_ = 0, lost_in_all_ = 0;
    std::vector<std::string> written_;  // names of files that may still be waiting
};

}  // namespace lagtrap::cli
