// The table of copies as threads share it: one arms events in copies, others ask for their status
// and report writers. A writer waits here for markers that are being attached to its file, or
// detached from it.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/result.hpp"
#include "daemon/events/copy_table.hpp"
#include "daemon/events/event_copies.hpp"
#include "daemon/probes/real_file.hpp"
#include "daemon/probes/watched_file.hpp"
#include "settings/settings.hpp"

namespace lagtrap::daemon {

// CopyTable, with the real time and a lock. See there unless a comment says more.
class SharedCopies {
  public:
    using Clock = CopyTable::Clock;
    using MainFiles = std::map<std::shared_ptr<const WatchedFile>, RealFile>;

    explicit SharedCopies(const std::vector<settings::Event>& events) : table_(events) {}

    // The following is for the arming thread only.

    // What processes and settings mean changes on the arming thread alone, so it reads this without
    // the lock.
    [[nodiscard]] const FileMatches& matches() const { return table_.matches(); }
    [[nodiscard]] const std::map<std::string, CopyTable::Namesake>& namesakes() const {
        return table_.namesakes();
    }
    [[nodiscard]] const MainFiles& main_files() const { return main_files_; }
    // `known`: what the settings' files mean to the table.
    [[nodiscard]] std::vector<CopyTable::Leaving> use(MainFiles files, CopyTable::MainFiles known);
    // Returns CopyTable::take_unmapped().
    [[nodiscard]] std::vector<CopyTable::Leaving> use(CopyTable::Processes processes);
    std::uint32_t add(CopyTable::Copy copy);
    // The copy, if the event may have markers in it.
    [[nodiscard]] std::optional<CopyTable::Copy> make_room(const CopyTable::Missing& missing);
    // leave_file() waits from begin_attaching() to end_attaching().
    void begin_attaching(const std::string& name);
    // `event_is_off`: the attempt does not count, because the event is not armed now.
    void end_attaching(const std::string& name, const CopyTable::Missing& missing,
                       const Status& armed, bool event_is_off);

    // The following is thread-safe.

    [[nodiscard]] Status check_room(Party party) const;
    void note_left_out(Party party);
    [[nodiscard]] std::vector<CopyTable::Missing> missing(Clock::time_point now) const;
    [[nodiscard]] std::optional<Clock::time_point> next_change(Clock::time_point now) const;
    [[nodiscard]] bool is_open(const RealFile& real) const;
    [[nodiscard]] bool is_leaving(const std::string& name) const;
    void note_detached(const std::string& name);
    void note_left(std::uint32_t event);
    // Waits until no markers in the file are being attached or detached.
    [[nodiscard]] std::vector<std::pair<std::uint32_t, std::uint32_t>> leave_file(
        const std::string& name);
    // True if a process maps this file, which the settings name.
    [[nodiscard]] bool has_processes(const WatchedFile& main_file) const;
    [[nodiscard]] LeftOut left_out() const;
    [[nodiscard]] EventCopies describe(std::uint32_t event, bool armed) const;

  private:
    mutable std::mutex mutex_;
    CopyTable table_;
    MainFiles main_files_;
    std::multiset<std::string> attaching_;  // names of files
    std::condition_variable changed_;       // attaching_, or what is leaving
};

}  // namespace lagtrap::daemon
