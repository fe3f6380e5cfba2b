// The files that events' settings name by path. If the owner of a file makes it slow to read,
// replaces it, or changes it all day, only the events of this file suffer.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "daemon/events/copy_arming.hpp"
#include "daemon/events/watched_path.hpp"
#include "daemon/probes/watched_file.hpp"
#include "daemon/probes/write_guard.hpp"
#include "settings/settings.hpp"

namespace lagtrap::daemon {

// Status of a file with markers.
struct WatchedFileStatus {
    std::string path;
    uid_t owner = 0;
    std::string other_writers;         // see WatchedFile
    unsigned rearmed = 0;              // how often its events were armed again because it changed
    std::chrono::seconds again_in{0};  // time until that may happen again; 0 if it may now
    bool slow = false;                 // reading it took longer than an event's budget
};

// The programs and libraries with markers of the event that the settings name by path.
[[nodiscard]] std::set<std::string> binaries_of(const settings::Event& event);

// Thread-safe. Only open(), follow() and look_at() wait for file systems, for some seconds at most.
class SettingsFiles {
  public:
    // `guard` must outlive it. `follows`: copies are watched, so files may be opened later.
    SettingsFiles(const std::vector<settings::Event>& events, WriteGuard& guard, bool follows);

    // The file at a path; opens and guards it if it is not open.
    [[nodiscard]] Result<std::shared_ptr<const WatchedFile>> open(const std::string& path);
    // True if the file is not opened here (is_followed()).
    [[nodiscard]] bool follow(const std::string& path);
    enum class Change {
        None,
        // Somebody still writes to it, or it changed often lately: attach its events' markers
        // later.
        Later,
        Replaced,  // attach them again
    };
    // `mapped`: a process maps the opened file.
    [[nodiscard]] Change look_at(const std::string& path, bool mapped);
    void note_rearmed(const std::string& path);
    // Adds the owner to the error of a file that took too long.
    [[nodiscard]] Error blame(const std::string& path, const Error& error);

    [[nodiscard]] std::vector<std::string> paths() const;
    // nullptr if it is not open.
    [[nodiscard]] std::shared_ptr<const WatchedFile> file(const std::string& path) const;
    [[nodiscard]] CopyArming::MainFiles main_files() const;
    // Opened files, by path.
    [[nodiscard]] std::vector<WatchedFileStatus> status() const;
    // Identities of the event's files when they were opened, without those that are not open.
    [[nodiscard]] std::vector<FileIdentity> identities_of(const settings::Event& event) const;

  private:
    [[nodiscard]] Result<PathTarget> target_of(const std::string& path) const;

    WriteGuard& guard_;
    const bool follows_;
    mutable std::mutex mutex_;
    std::map<std::string, WatchedPath> files_;  // by path: all files with markers
};

}  // namespace lagtrap::daemon
