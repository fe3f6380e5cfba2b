// Decides in which copies of programs events are watched, when a failed attempt is repeated, and
// when a copy is let go. Values and the time in, values out: it uses no kernel, clock, file or
// thread. CopyArming reports what it finds and carries the decisions out.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/party.hpp"
#include "core/result.hpp"
#include "daemon/events/event_copies.hpp"
#include "daemon/events/file_matches.hpp"
#include "daemon/probes/real_file.hpp"
#include "daemon/processes/user_shares.hpp"
#include "settings/settings.hpp"

namespace lagtrap::daemon {

// Not thread-safe. Events are numbers in the constructor's list.
class CopyTable {
  public:
    using Clock = std::chrono::steady_clock;
    struct Limits {
        std::size_t files = 1'024;  // with markers, of all events together
        std::size_t files_of_event = 256;
        std::size_t files_of_user = 32;  // per event and party (core/party.hpp), except root
        // open files, with markers or not; a quarter for each party except root
        std::size_t open = 1'024;
    };
    // An open file that a process maps and an event means.
    struct Copy {
        RealFile real;
        std::string name;  // WatchedFile::path(), unique
        FileView view;
        std::string where;         // unit or container of the first process; empty if neither
        std::string build_id;      // set if the settings need it
        Party party = root_party;  // of the first process
        bool may_stay = false;     // keeping it open blocks nobody
    };
    // The files that are watched under their names in the settings.
    struct MainFiles {
        std::map<std::string, RealFile> by_path;
        FileMatches::Targets targets;
    };
    // A file with the last path component of a name in the settings that no event means.
    struct Namesake {
        std::uint32_t pid = 0;
        std::uint64_t processes = 0;
        std::string where;  // unit or container; empty if neither
    };
    struct Processes {
        std::map<RealFile, std::set<std::uint32_t>> by_file;
        std::map<std::string, Namesake> namesakes;  // by path
        std::map<std::uint32_t, std::string> units;
    };
    // An event that should be watched in a copy.
    struct Missing {
        std::uint32_t copy = 0, event = 0;
        unsigned failures = 0;  // failed attempts so far
    };
    // A copy whose markers must be detached. It is no longer in the table.
    struct Leaving {
        std::uint32_t copy = 0;
        std::string name;
        std::set<std::uint32_t> armed;  // events with markers in it
    };

    // How long markers stay in a copy that no process maps, for programs that start again soon.
    // Shorter on other file systems: open files block unmounting disks and freeing the space of
    // removed containers.
    static constexpr std::chrono::seconds stays_unmapped{10}, stays_unmapped_elsewhere{1};
    // Pause before the second attempt, which happens on a busy machine; doubles each time.
    static constexpr std::chrono::seconds first_retry{2};
    static constexpr unsigned max_doublings = 7;

    explicit CopyTable(std::vector<settings::Event> events)
        : CopyTable(std::move(events), Limits{}) {}
    CopyTable(std::vector<settings::Event> events, const Limits& limits)
        : limits_(limits), matches_(std::move(events)) {}

    // Lets go of copies that are now watched under their names in the settings, because their
    // markers would be hit twice. Then use note_detached() for each.
    [[nodiscard]] std::vector<Leaving> use(MainFiles files);
    void use(Processes processes, Clock::time_point now);
    // Checks whether this party may have one more open file. ErrorKind::TooLarge if not.
    [[nodiscard]] Status check_room(Party party) const;
    // Counts a file that is not opened because check_room() failed.
    void note_left_out(Party party);
    // Returns the copy's number. Ignores Limits::open.
    std::uint32_t add(Copy copy, Clock::time_point now);

    // What should be armed now. An event may be missing in files that are being detached; it is
    // not listed before note_detached().
    [[nodiscard]] std::vector<Missing> missing(Clock::time_point now) const;
    // Whether the event may have markers in this copy, by the limits. Remembers a refusal.
    [[nodiscard]] bool make_room(const Missing& missing);
    // The result of an attempt. ErrorKind::Timeout and Busy are temporary.
    void note_armed(const Missing& missing, const Status& armed, Clock::time_point now);
    // The markers of the event were detached from all files.
    void note_left(std::uint32_t event);
    // Somebody writes to this copy. Returns the markers to detach, as pairs of event and copy.
    [[nodiscard]] std::vector<std::pair<std::uint32_t, std::uint32_t>> leave_file(
        const std::string& name);
    // Lets go of copies that no process has mapped for some time.
    [[nodiscard]] std::vector<Leaving> take_unmapped(Clock::time_point now);
    // Call it once for each Leaving.
    void note_detached(const std::string& name);
    // When missing() or take_unmapped() will have something new unless something else happens. What
    // missing(now) lists already does not count: it waits for room, for a budget or for its event.
    [[nodiscard]] std::optional<Clock::time_point> next_change(Clock::time_point now) const;

    // nullptr if it is no longer there.
    [[nodiscard]] const Copy* copy(std::uint32_t number) const;
    // True if the file is open, as a copy or under its name in the settings.
    [[nodiscard]] bool is_open(const RealFile& real) const;
    [[nodiscard]] bool is_leaving(const std::string& name) const { return leaving_.contains(name); }
    // True if a process maps this file.
    [[nodiscard]] bool has_processes(const RealFile& main_file) const {
        return main_pids_.contains(main_file);
    }
    [[nodiscard]] const FileMatches& matches() const { return matches_; }
    [[nodiscard]] const std::map<std::string, Namesake>& namesakes() const { return namesakes_; }
    [[nodiscard]] const LeftOut& left_out() const { return left_out_; }
    // What status shows of an event. `armed`: it has markers in the files of its settings.
    [[nodiscard]] EventCopies describe(std::uint32_t event, bool armed) const;

  private:
    // Why an event is not armed in a copy.
    struct Problem {
        std::string message;
        Clock::time_point again = Clock::time_point::max();  // time of the next attempt
        unsigned failures = 1;
    };
    struct Entry {
        Copy copy;
        std::set<std::uint32_t> armed;  // events
        std::map<std::uint32_t, Problem> problems;
        std::set<std::uint32_t> left_out;  // events without room for this copy
        std::set<std::uint32_t> pids;
        Clock::time_point mapped;  // when a process last mapped it
        [[nodiscard]] Clock::time_point leaves() const {
            return mapped + (copy.may_stay ? stays_unmapped : stays_unmapped_elsewhere);
        }
    };
    template <typename IsLeaving>
    [[nodiscard]] std::vector<Leaving> take(const IsLeaving& is_leaving);
    [[nodiscard]] bool has_room(const Entry& entry, std::uint32_t event) const;
    [[nodiscard]] bool is_leaving(const RealFile& real) const;
    [[nodiscard]] bool is_missing(const Entry& entry, std::uint32_t event,
                                  Clock::time_point now) const;
    void describe_copy(const Entry& entry, std::uint32_t event, bool armed, EventCopies& report,
                       std::set<std::uint32_t>& pids) const;
    [[nodiscard]] std::optional<CopyStatus> namesake_of(std::uint32_t event) const;

    const Limits limits_;
    FileMatches matches_;
    LeftOut left_out_;
    std::uint32_t last_copy_ = 0;
    std::map<std::uint32_t, Entry> copies_;  // by number
    // Files whose markers are being detached, by name. New markers in the same file would be hit in
    // addition to those. A file that was opened again meanwhile may leave again, too.
    std::multimap<std::string, RealFile> leaving_;
    std::map<std::string, RealFile> main_files_;  // by path
    std::map<RealFile, std::set<std::uint32_t>> main_pids_;
    std::map<std::uint32_t, std::string> units_;
    std::map<std::string, Namesake> namesakes_;
};

}  // namespace lagtrap::daemon
