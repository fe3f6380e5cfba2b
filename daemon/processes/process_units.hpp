// The systemd unit or container of processes.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>

namespace lagtrap::daemon {

// Use it on one thread.
class ProcessUnits {
  public:
    // Returns the brief words for a process's unit or container; empty if it has none or has
    // exited.
    using Ask = std::function<std::string(std::uint32_t pid)>;
    explicit ProcessUnits(Ask ask) : ask_(std::move(ask)) {}

    // Asks about new processes, at most `asked_limit` per call; the others follow in the next call.
    // Removes processes that are not in `pids`.
    void follow(const std::set<std::uint32_t>& pids);
    // As of the last call, without processes not asked about yet.
    [[nodiscard]] const std::map<std::uint32_t, std::string>& by_pid() const { return units_; }

    static constexpr std::size_t asked_limit = 256;

  private:
    const Ask ask_;
    std::map<std::uint32_t, std::string> units_;
};

}  // namespace lagtrap::daemon
