// Finds every copy of a program that events watch: opens files that processes map and that match
// the settings, whatever the processes' view of the file system is. Containers of one image share a
// file, which is opened once. CopyTable decides which copies get markers and when they leave;
// whoever owns this object attaches and detaches the markers.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/result.hpp"
#include "daemon/events/copy_finder.hpp"
#include "daemon/events/copy_table.hpp"
#include "daemon/events/event_copies.hpp"
#include "daemon/events/event_plan.hpp"
#include "daemon/events/shared_copies.hpp"
#include "daemon/probes/watched_file.hpp"
#include "daemon/processes/container_names.hpp"
#include "daemon/processes/look_budget.hpp"
#include "daemon/processes/process_units.hpp"
#include "daemon/unwinding/mapped_files.hpp"
#include "settings/settings.hpp"

namespace lagtrap::daemon {

class CopyArming {
  public:
    // The files that the settings name by path.
    struct MainFiles {
        std::vector<std::shared_ptr<const WatchedFile>> opened;
        std::map<std::string, std::string> followed;  // see FileMatches::Targets
    };
    // A copy without processes, or one that is now watched under its name in the settings.
    struct Leaving {
        std::uint32_t copy = 0;
        std::set<std::uint32_t> armed;  // events with markers in it
        std::shared_ptr<const WatchedFile> file;
    };
    struct Look {
        // New copies, to be guarded against writers. A copy whose name is still leaving comes
        // later, so that the end of guarding the old one does not end it for the new one.
        std::vector<std::shared_ptr<const WatchedFile>> opened;
        std::vector<Leaving> leaving;  // detach their markers, then use note_detached()
    };
    // ErrorKind::Busy: the event is not armed now.
    using Attach =
        std::function<Status(std::uint32_t event, std::uint32_t copy, const EventPlan& plan)>;

    // All arguments must outlive it. It stops early when `stopped` becomes true.
    CopyArming(const std::vector<settings::Event>& events, MappedFiles& mapped_files,
               ProcessInspector& inspector, ContainerNames& names,
               const std::atomic<bool>& stopped);

    // The following is for the arming thread only. Call look(), then arm_missing(), then
    // next_look().

    // Processes the mapped files.
    [[nodiscard]] Look look(const MainFiles& files);
    // Attaches those of these events that are missing in copies.
    void arm_missing(const std::set<std::uint32_t>& events, const Attach& attach);
    // When to look again, if work is left.
    [[nodiscard]] std::optional<std::chrono::steady_clock::duration> next_look() const;

    // The following is thread-safe.

    // The markers are detached and the file is no longer guarded.
    void note_detached(const WatchedFile& file) { copies_.note_detached(file.path()); }
    // Call it when the markers of the event were detached from all files.
    void note_left(std::uint32_t event) { copies_.note_left(event); }
    // Somebody writes to the copy of this name (WatchedFile::path()). Returns the markers to
    // detach, as pairs of event and copy. Waits until markers that are being attached or detached
    // are.
    [[nodiscard]] std::vector<std::pair<std::uint32_t, std::uint32_t>> leave_file(
        const std::string& name) {
        return copies_.leave_file(name);
    }
    // `armed`: the event has markers in the files that its settings name.
    [[nodiscard]] EventCopies of(std::uint32_t event, bool armed) const;
    // Number of files not opened because of limits, by the party of the processes.
    [[nodiscard]] LeftOut left_out() const { return copies_.left_out(); }
    // True if look() has processed all mapped files so far.
    [[nodiscard]] bool is_up_to_date() const {
        return looked_at_version_.load() == mapped_files_.version();
    }
    // Call it when look() and arm_missing() will follow.
    void expect_look() { is_expected_.store(true); }
    // True unless copies wait for arm_missing(), whatever it could attach.
    [[nodiscard]] bool is_done() const { return !is_expected_.load() && is_up_to_date(); }
    // True if a process maps this file of MainFiles.
    [[nodiscard]] bool has_processes(const WatchedFile& main_file) const {
        return copies_.has_processes(main_file);
    }

  private:
    using Clock = std::chrono::steady_clock;
    using MappedFile = MappedFiles::MappedFile;
    using Missing = CopyTable::Missing;
    // What is known about a mapped file.
    struct Resolved {
        std::optional<RealFile> real;  // nullopt if unknown or not wanted
        bool namesake = false;
        Clock::time_point again;  // next attempt if unknown
        unsigned failures = 0;    // failed attempts
    };
    struct CopyFile {
        std::shared_ptr<const WatchedFile> file;
        bool reported = false;  // in Look::opened
    };
    struct Progress {  // of the last look
        Clock::time_point began;
        bool all_resolved = true;
        bool waits_for_budget = false;
    };

    [[nodiscard]] std::vector<CopyTable::Leaving> use_main_files(const MainFiles& files);
    [[nodiscard]] bool resolve_some(const std::vector<MappedFile>& mapped_files);
    [[nodiscard]] bool is_settled(const Resolved& known) const;
    [[nodiscard]] Resolved resolve(const MappedFile& mapped_file, unsigned failures);
    [[nodiscard]] Result<RealFile> find_file(const MappedFile& mapped_file, const FileView& view);
    void add(const MappedFile& mapped_file, const FileView& view,
             const CopyFinder::KnownFile& known, UniqueFd descriptor);
    [[nodiscard]] std::string where_known(const std::string& path, std::uint32_t pid) const;
    [[nodiscard]] CopyTable::Processes processes_of(const std::vector<MappedFile>& mapped_files);
    [[nodiscard]] std::vector<std::shared_ptr<const WatchedFile>> newly_opened();
    [[nodiscard]] std::vector<Leaving> with_files(const std::vector<CopyTable::Leaving>& leaving);
    void arm(const Missing& missing, const Attach& attach);
    [[nodiscard]] Result<EventPlan> plan(const Missing& missing, const CopyTable::Copy& copy) const;

    MappedFiles& mapped_files_;
    ContainerNames& names_;
    const std::atomic<bool>& stopped_;
    SharedCopies copies_;
    std::atomic<std::uint64_t> looked_at_version_{0};  // of the mapped files
    std::atomic<bool> is_expected_{false};

    // For the arming thread only, except an error: there is no search for copies.
    const Result<std::unique_ptr<CopyFinder>> finder_;
    Progress progress_;
    LookBudget budget_;
    ProcessUnits units_;
    std::map<std::uint64_t, Resolved> resolved_;  // by id of the mapped file
    std::map<std::uint32_t, CopyFile> files_;     // by copy
};

}  // namespace lagtrap::daemon
