// What is known about the file at a path in the settings, and whether its markers must be attached
// again. Uses no kernel, file, clock or thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "daemon/probes/rearm_pauses.hpp"
#include "daemon/probes/watched_file.hpp"

namespace lagtrap::daemon {

// What a path leads to at some time.
struct PathTarget {
    std::optional<FileIdentity> seen;  // nullopt if nothing is there
    bool regular = false;
    std::string leads_to;           // without symlinks
    std::uint64_t root_device = 0;  // of the machine's root folder
};

// Whether the file is only opened once a process maps it (copy_arming.hpp). Probes need an open
// file, which keeps a disk from being unmounted. The root file system cannot be unmounted, so there
// the probes are attached before the program starts. Files on other disks are attached when
// processes map them; these are found by the last component of their path.
[[nodiscard]] bool is_followed(const std::string& path, const PathTarget& target);

class WatchedPath {
  public:
    using Clock = std::chrono::steady_clock;
    // What happens to the opened file.
    struct Use {
        bool mapped = false;   // by a process
        bool written = false;  // somebody writes or wrote to it (WriteGuard)
        bool leased = false;   // nobody can have written to it since it was opened
    };

    // It is open, or could not be opened (nullptr).
    void note_opened(std::shared_ptr<const WatchedFile> file, std::optional<FileIdentity> seen);
    // It is not opened because it is followed, or may be opened.
    void note_followed(bool followed, const PathTarget& target);
    // Takes what is at the path now. True if the markers of its events must be attached again.
    [[nodiscard]] bool has_changed(const PathTarget& target, bool follows, const Use& use);
    // How long to wait before that, because the file changes often; 0 s if it may be done now.
    [[nodiscard]] std::chrono::seconds pause(Clock::time_point now) const {
        return pauses_.left(now);
    }
    void close() { file_.reset(); }
    void note_rearmed(Clock::time_point now);
    // Reading it took longer than an event's budget.
    void note_slow() { slow_ = true; }

    // The probed file; nullptr if it must be opened.
    [[nodiscard]] const std::shared_ptr<const WatchedFile>& file() const { return file_; }
    [[nodiscard]] bool followed() const { return followed_; }
    // Target of a followed path; empty if nothing is there.
    [[nodiscard]] const std::string& leads_to() const { return leads_to_; }
    [[nodiscard]] bool slow() const { return slow_; }
    // How often note_rearmed() was called.
    [[nodiscard]] unsigned rearmed() const { return pauses_.count(); }

  private:
    std::shared_ptr<const WatchedFile> file_;
    // found at its path when it was last opened; nullopt if nothing was there
    std::optional<FileIdentity> seen_;
    RearmPauses pauses_;
    bool slow_ = false;
    bool followed_ = false;
    std::string leads_to_;
};

}  // namespace lagtrap::daemon
