// Watches every copy of a program: puts the markers of events into files that the settings mean and that processes have
// mapped, whatever their view of the file system, and takes them out where nobody has the file mapped any more. Containers of
// one image share a file; it is probed once.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "core/result.hpp"
#include "daemon/events/event_plan.hpp"
#include "daemon/probes/real_file.hpp"
#include "daemon/probes/watched_file.hpp"
#include "daemon/processes/container_names.hpp"
#include "daemon/processes/look_budget.hpp"
#include "daemon/processes/process_inspector.hpp"
#include "daemon/processes/process_units.hpp"
#include "daemon/unwinding/file_sightings.hpp"
#include "settings/settings.hpp"

namespace lagtrap::daemon {

// A file as a process has it.
struct CopyStatus {
    std::string path;   // as the process sees it
    std::string where;  // its unit or container; empty: neither
    std::uint32_t pid = 0;
    std::uint64_t processes = 0;
    std::string problem;  // why it is not watched; empty: it is
};

// What is known of the files of one event.
struct EventCopies {
    std::uint64_t files = 0;       // that its markers are in
    std::uint64_t processes = 0;   // that have one of them mapped
    std::uint32_t pid = 0;         // of one of these
    std::set<std::uint32_t> pids;  // of all of them
    // How many of them each unit or container has; empty: none, or not known. At most units_limit, the largest, and the rest as "other".
    std::map<std::string, std::uint64_t> processes_by_unit;
    static constexpr std::size_t units_limit = 20;
    std::string problem;                 // why copies are not looked for; empty: they are
    std::vector<std::string> absent;     // paths of its settings under which nothing lies on this machine
    std::uint64_t left_out = 0;          // files that are not watched, as a limit is reached
    std::vector<CopyStatus> copies;      // beside the file that its settings name; at most shown_limit
    std::optional<CopyStatus> namesake;  // another file of that name, where no process has one that is watched
    static constexpr std::size_t shown_limit = 16;
};

class CopyArming {
  public:
    struct Limits {
        std::size_t files = 1'024;  // of all events together
        std::size_t files_of_event = 256;
        std::size_t files_of_user = 32;  // of one event, for each party (core/party.hpp) but root
        std::size_t open = 1'024;        // held open, armed or not; of one party but root a quarter
    };
    // Who arms events; called on the thread that calls look().
    struct Hooks {
        std::function<bool(std::uint32_t event)> is_armed;
        // Files that events are armed in.
        std::function<std::vector<std::shared_ptr<const WatchedFile>>()> main_files;
        // ErrorKind::Busy: the event is not armed now.
        std::function<Status(std::uint32_t event, std::uint32_t copy, const EventPlan& plan)> attach;
        std::function<void(std::uint32_t event, std::uint32_t copy)> detach;
        // Does work that takes long by a thread of its own, one after the other, and looks again then.
        std::function<void(std::function<void()> work)> apart;
        std::function<void(const std::shared_ptr<const WatchedFile>&)> guard;  // against writers
        std::function<void(const WatchedFile&)> release;                       // guards it no longer
        // Paths in the settings under which no file of the machine's own root file system lies, each with where its links
        // lead, or empty: what processes map under them is watched as a copy.
        std::function<std::map<std::string, std::string>()> followed;
        const std::atomic<bool>* given_up = nullptr;
    };
    // All of them outlive it.
    CopyArming(const std::vector<settings::Event>& events, FileSightings& sightings, ProcessInspector& inspector,
               ContainerNames& names, Hooks hooks)
        : CopyArming(events, sightings, inspector, names, std::move(hooks), Limits{}) {}
    CopyArming(const std::vector<settings::Event>& events, FileSightings& sightings, ProcessInspector& inspector,
               ContainerNames& names, Hooks hooks, const Limits& limits);

    // Looks at what was sighted. Gives after which time it has to be called again, if something is left to be done.
    // One thread's, the one that arms.
    [[nodiscard]] std::optional<std::chrono::steady_clock::duration> look();

    // The following may be called from any thread.

    // The event's markers were taken out of all files.
    void note_left(std::uint32_t event);
    // Somebody writes to the copy of this name (WatchedFile::path()): its markers are to go. Those that were in it. Waits
    // for markers that are on their way out of it.
    [[nodiscard]] std::vector<std::pair<std::uint32_t, std::uint32_t>> leave_file(const std::string& name);
    [[nodiscard]] EventCopies of(std::uint32_t event) const;
    // Files that are not opened, as too many are, by whose processes have them.
    [[nodiscard]] LeftOut left_out() const;
    // Whether a process has a file of Hooks::main_files mapped.
    [[nodiscard]] bool has_processes(const WatchedFile& main_file) const;

  private:
    using Clock = std::chrono::steady_clock;
    using Sighting = FileSightings::Sighting;
    struct KnownFile {
        RealFile real;
        std::string build_id;  // where one is asked for
    };
    // How a process has a file.
    struct View {
        std::string path;  // as the process sees it
        bool machines =
            false;  // the process has the machine's view of the file system: the path means the machine's file
    };
    // Why an event is not armed in a copy.
    struct Problem {
        std::string message;
        Clock::time_point again = Clock::time_point::max();  // when it is tried again
        unsigned failures = 1;
    };
    struct Copy {
        RealFile real;
        std::shared_ptr<const WatchedFile> file;
        View view;
        std::string where, build_id;
        Party user = root_party;        // who had it mapped first
        std::set<std::uint32_t> armed;  // events
        std::map<std::uint32_t, Problem> problems;
        std::map<std::uint32_t, bool> left_out;  // events for which there is no room
        std::set<std::uint32_t> pids;
        Clock::time_point mapped;  // the last time that somebody had it
        bool may_stay = false;     // holds up nobody: it lies on the machine's own root file system
        [[nodiscard]] Clock::time_point leaves() const;
    };
    struct Resolved {
        std::optional<RealFile> real;  // nullopt: not known, or of no interest
        bool namesake = false;
        Clock::time_point again;  // where it is not known
        unsigned failures = 0;    // in finding out
    };

    [[nodiscard]] std::vector<std::uint32_t> events_meaning(const View& view, const std::string& build_id) const;
    [[nodiscard]] bool means(const settings::Event& event, const std::string& name, const View& view,
                             const std::string& build_id) const;
    [[nodiscard]] std::set<std::string> names_meaning(const settings::Event& event, const View& view,
                                                      const std::string& build_id) const;
    [[nodiscard]] View view_of(const Sighting& sighting) const;
    [[nodiscard]] bool resolve_some(const std::vector<Sighting>& sightings);
    [[nodiscard]] Resolved resolve(const Sighting& sighting, unsigned failures);
    [[nodiscard]] Result<RealFile> find_file(const Sighting& sighting, const View& view);
    [[nodiscard]] Result<KnownFile> look_into(const OpenedFile& opened, const Sighting& sighting) const;
    // Whether one more file may be opened for this party's process. Error: TooLarge.
    [[nodiscard]] Status check_room(Party party) const;
    void add(const Sighting& sighting, const View& view, const KnownFile& known, UniqueFd file);
    void let_go(std::vector<std::pair<std::uint32_t, Copy>> copies);
    void leave_copy(std::uint32_t number, const Copy& copy);
    [[nodiscard]] bool is_open(const RealFile& real) const;
    void note_main_files();
    [[nodiscard]] std::string where_known(const std::string& path, std::uint32_t pid);
    void note_processes(const std::vector<Sighting>& sightings);
    // Needs mutex_.
    [[nodiscard]] std::map<std::string, std::uint64_t> count_by_unit(const std::set<std::uint32_t>& pids) const;
    void arm_missing();
    void arm(std::uint32_t number, std::uint32_t event);
    [[nodiscard]] Clock::time_point next_try() const;
    [[nodiscard]] bool has_room(const Copy& copy, std::uint32_t event) const;
    void drop_unmapped();
    [[nodiscard]] std::optional<Clock::time_point> next_to_leave() const;

    LeftOut left_out_;  // needs mutex_
    const std::vector<settings::Event> events_;
    FileSightings& sightings_;
    ProcessInspector& inspector_;
    ContainerNames& names_;
    const Hooks hooks_;
    const Limits limits_;
    std::unique_ptr<RealFiles> real_files_;
    LookBudget budget_;
    bool wants_build_ids_ = false;

    std::set<std::uint64_t> machines_mounts_;  // namespaces of the machine's own view of the file system
    std::uint64_t root_device_ = 0;            // that the machine's root lies on

    // The arming thread's.
    std::map<std::uint64_t, Resolved> resolved_;  // by the sighting's number
    using IdentityKey = std::tuple<std::uint64_t, std::uint64_t, std::uint64_t, std::int64_t>;
    std::map<IdentityKey, KnownFile> known_files_;
    std::uint32_t last_copy_ = 0;
    bool waiting_for_budget_ = false;
    ProcessUnits units_;

    mutable std::mutex mutex_;
    std::string problem_;                   // why copies are not looked for
    std::map<std::uint32_t, Copy> copies_;  // by number
    // Files that markers are on their way out of, by name: others in the same file would be hit beside them.
    std::map<std::string, RealFile> leaving_;
    std::condition_variable left_;
    std::map<std::shared_ptr<const WatchedFile>, RealFile> main_files_;
    std::map<std::string, std::string> linked_names_;  // what a name in the settings, a link on this machine, leads to
    std::map<std::string, std::string> followed_;      // as Hooks::followed has them
    std::map<RealFile, std::set<std::uint32_t>> main_pids_;
    std::map<std::uint32_t, std::string> unit_of_pid_;
    struct Namesake {
        std::string path;
        std::uint32_t pid = 0;
        std::uint64_t processes = 0;
        std::string where;
    };
    std::map<std::string, Namesake> namesakes_;  // by path
};

}  // namespace lagtrap::daemon
