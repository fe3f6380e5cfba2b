// Which unit of systemd, or container, each of some processes belongs to.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>

namespace lagtrap::daemon {

// One thread's.
class ProcessUnits {
  public:
    // The words for a process's unit or container, brief; empty: it has none, or has ended.
    using Ask = std::function<std::string(std::uint32_t pid)>;
    explicit ProcessUnits(Ask ask) : ask_(std::move(ask)) {}

    // Asks for those that are new, at most `asked_limit` of them; further ones have to wait for the next call. Forgets those that are not in
    // `pids`.
    void follow(const std::set<std::uint32_t>& pids);
    // As of the last call; without processes that were not asked for.
    [[nodiscard]] const std::map<std::uint32_t, std::string>& by_pid() const { return units_; }

    static constexpr std::size_t asked_limit = 256;

  private:
    const Ask ask_;
    std::map<std::uint32_t, std::string> units_;
};

}  // namespace lagtrap::daemon
