// Watches every copy of a program: attaches markers to files that processes map and that match the
// settings, whatever the processes' view of the file system is, and detaches them when no process
// maps the file any more. Containers of one image share a file, which is probed once.
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
#include "daemon/events/event_copies.hpp"
#include "daemon/events/event_plan.hpp"
#include "daemon/probes/real_file.hpp"
#include "daemon/probes/watched_file.hpp"
#include "daemon/processes/container_names.hpp"
#include "daemon/processes/look_budget.hpp"
#include "daemon/processes/process_inspector.hpp"
#include "daemon/processes/process_units.hpp"
#include "daemon/unwinding/mapped_files.hpp"
#include "settings/settings.hpp"

namespace lagtrap::daemon {

class CopyArming {
  public:
    struct Limits {
        std::size_t files = 1'024;  // of all events together
        std::size_t files_of_event = 256;
        std::size_t files_of_user = 32;  // per event and party (core/party.hpp), except root
        // open files, armed or not; a quarter for each party except root
        std::size_t open = 1'024;
    };
    // Functions that arm events. Called on the thread that calls look().
    struct Hooks {
        std::function<bool(std::uint32_t event)> is_armed;
        // The files named in the settings that events are armed in.
        std::function<std::vector<std::shared_ptr<const WatchedFile>>()> main_files;
        // ErrorKind::Busy: the event is not armed now.
        std::function<Status(std::uint32_t event, std::uint32_t copy, const EventPlan& plan)>
            attach;
        std::function<void(std::uint32_t event, std::uint32_t copy)> detach;
        // Runs long jobs on another thread, one after the other, and calls look() afterwards.
        std::function<void(std::function<void()> work)> apart;
        // starts guarding it against writers
        std::function<void(const std::shared_ptr<const WatchedFile>&)> guard;
        std::function<void(const WatchedFile&)> release;  // stops guarding it
        // Paths in the settings that are only opened once a process maps them, because nothing is
        // there or because they are not on the machine's root file system. Maps each to the target
        // of its links, or to an empty string. Files that processes map under these paths are
        // watched as copies.
        std::function<std::map<std::string, std::string>()> followed;
        const std::atomic<bool>* given_up = nullptr;
    };
    // All arguments must outlive it.
    CopyArming(const std::vector<settings::Event>& events, MappedFiles& mapped_files,
               ProcessInspector& inspector, ContainerNames& names, Hooks hooks)
        : CopyArming(events, mapped_files, inspector, names, std::move(hooks), Limits{}) {}
    CopyArming(const std::vector<settings::Event>& events, MappedFiles& mapped_files,
               ProcessInspector& inspector, ContainerNames& names, Hooks hooks,
               const Limits& limits);

    // Processes the mapped files. Returns when to call it again, if work is left. For the arming
    // thread only.
    [[nodiscard]] std::optional<std::chrono::steady_clock::duration> look();

    // The following is thread-safe.

    // Call it when the markers of the event were detached from all files.
    void note_left(std::uint32_t event);
    // Somebody writes to the copy of this name (WatchedFile::path()). Returns the markers to
    // detach, as pairs of event and copy. Waits until markers that are being attached or detached
    // are.
    [[nodiscard]] std::vector<std::pair<std::uint32_t, std::uint32_t>> leave_file(
        const std::string& name);
    [[nodiscard]] EventCopies of(std::uint32_t event) const;
    // Number of files not opened because of limits, by the party of the processes.
    [[nodiscard]] LeftOut left_out() const;
    // True if look() has processed all mapped files so far.
    [[nodiscard]] bool is_up_to_date() const {
        return looked_at_version_.load() == mapped_files_.version();
    }
    // True if a process maps this file of Hooks::main_files.
    [[nodiscard]] bool has_processes(const WatchedFile& main_file) const;

  private:
    using Clock = std::chrono::steady_clock;
    using MappedFile = MappedFiles::MappedFile;
    struct KnownFile {
        RealFile real;
        std::string build_id;  // set if the settings need it
    };
    // How a process sees a file.
    struct View {
        std::string path;  // as the process sees it
        // The process has the machine's view of the file system: the path means the machine's file.
        bool machines = false;
    };
    // Why an event is not armed in a copy.
    struct Problem {
        std::string message;
        Clock::time_point again = Clock::time_point::max();  // time of the next attempt
        unsigned failures = 1;
    };
    struct Copy {
        RealFile real;
        std::shared_ptr<const WatchedFile> file;
        View view;
        std::string where, build_id;
        Party user = root_party;        // the first that mapped it
        std::set<std::uint32_t> armed;  // events
        std::map<std::uint32_t, Problem> problems;
        std::map<std::uint32_t, bool> left_out;  // events without room for this copy
        std::set<std::uint32_t> pids;
        Clock::time_point mapped;  // when a process last mapped it
        // keeping it open blocks nobody: it is on the machine's root file system
        bool may_stay = false;
        [[nodiscard]] Clock::time_point leaves() const;
    };
    struct Resolved {
        std::optional<RealFile> real;  // nullopt if unknown or not wanted
        bool namesake = false;
        Clock::time_point again;  // next attempt if unknown
        unsigned failures = 0;    // failed attempts
    };

    [[nodiscard]] std::vector<std::uint32_t> events_meaning(const View& view,
                                                            const std::string& build_id) const;
    [[nodiscard]] bool means(const settings::Event& event, const std::string& name,
                             const View& view, const std::string& build_id) const;
    [[nodiscard]] std::set<std::string> names_meaning(const settings::Event& event,
                                                      const View& view,
                                                      const std::string& build_id) const;
    [[nodiscard]] View view_of(const MappedFile& mapped_file) const;
    [[nodiscard]] bool resolve_some(const std::vector<MappedFile>& mapped_files);
    [[nodiscard]] Resolved resolve(const MappedFile& mapped_file, unsigned failures);
    [[nodiscard]] Result<RealFile> find_file(const MappedFile& mapped_file, const View& view);
    [[nodiscard]] Result<KnownFile> look_into(const OpenedFile& opened,
                                              const MappedFile& mapped_file) const;
    // Checks whether this party may have one more open file. ErrorKind::TooLarge if not.
    [[nodiscard]] Status check_room(Party party) const;
    void add(const MappedFile& mapped_file, const View& view, const KnownFile& known,
             UniqueFd file);
    void let_go(std::vector<std::pair<std::uint32_t, Copy>> copies);
    void leave_copy(std::uint32_t number, const Copy& copy);
    [[nodiscard]] bool is_open(const RealFile& real) const;
    void note_main_files();
    [[nodiscard]] std::string where_known(const std::string& path, std::uint32_t pid);
    void note_processes(const std::vector<MappedFile>& mapped_files);
    // Call it with mutex_ held.
    void arm_missing();
    void arm(std::uint32_t number, std::uint32_t event);
    [[nodiscard]] Clock::time_point next_try() const;
    [[nodiscard]] bool has_room(const Copy& copy, std::uint32_t event) const;
    void drop_unmapped();
    [[nodiscard]] std::optional<Clock::time_point> next_to_leave() const;

    LeftOut left_out_;  // protected by mutex_
    const std::vector<settings::Event> events_;
    MappedFiles& mapped_files_;
    ProcessInspector& inspector_;
    ContainerNames& names_;
    const Hooks hooks_;
    const Limits limits_;
    std::unique_ptr<RealFiles> real_files_;
    std::atomic<std::uint64_t> looked_at_version_{0};  // of the mapped files
    LookBudget budget_;
    bool wants_build_ids_ = false;

    // mount namespaces with the machine's own view of the file system
    std::set<std::uint64_t> machines_mounts_;
    std::uint64_t root_device_ = 0;  // device of the machine's root

    // For the arming thread only:
    std::map<std::uint64_t, Resolved> resolved_;  // by id of the mapped file
    using IdentityKey = std::tuple<std::uint64_t, std::uint64_t, std::uint64_t, std::int64_t>;
    std::map<IdentityKey, KnownFile> known_files_;
    std::uint32_t last_copy_ = 0;
    bool waiting_for_budget_ = false;
    ProcessUnits units_;

    mutable std::mutex mutex_;
    std::string problem_;                   // why there is no search for copies
    std::map<std::uint32_t, Copy> copies_;  // by number
    // Files whose markers are being detached, by name. New markers in the same file would be hit in
    // addition to those.
    std::map<std::string, RealFile> leaving_;
    std::multiset<std::string> attaching_;  // names of files, for leave_file()
    std::condition_variable left_;
    std::map<std::shared_ptr<const WatchedFile>, RealFile> main_files_;
    // target of each name in the settings that is a symlink
    std::map<std::string, std::string> linked_names_;
    std::map<std::string, std::string> followed_;  // see Hooks::followed
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
