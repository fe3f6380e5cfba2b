// The capture that the recorder writes: its folder, its session, and what its merge needs.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "daemon/budget/overhead_recording.hpp"
#include "daemon/capture/recorder.hpp"
#include "daemon/events/event_monitor.hpp"
#include "daemon/processes/kept_roots.hpp"
#include "settings/settings.hpp"
#include "trace/logs/session.hpp"

namespace lagtrap::daemon {

// Use it for one recording after the other, on one thread.
class RecordingFiles {
  public:
    // Makes the folder and starts the recorder. `breach` is null if no delay caused it. Call end()
    // even if it fails.
    [[nodiscard]] Status begin(trace::Session session, std::filesystem::path folder,
                               const settings::Settings& settings, const Breach* breach,
                               Recorder& recorder, EventMonitor& monitor);
    // Reduces a recording that costs more than the settings allow. Returns in which way, for
    // people. Call it often.
    [[nodiscard]] std::optional<std::string> keep_budget(Recorder& recorder);
    // The recording ends because of its size.
    void note_size_limit() { session_.quality.truncated_by_size = true; }
    void note_end(trace::RecordingEnd why) { session_.end = why; }
    // Stops the recorder and writes the session. `failure`: what cut the recording short, or
    // success. `omitted`: what was not recorded, for people.
    [[nodiscard]] Status end(Recorder& recorder, const Status& failure,
                             std::vector<std::string> omitted);
    // Stops the recorder and writes the session as it is; the next daemon merges it.
    void leave(Recorder& recorder);

    // False if there is nothing to merge.
    [[nodiscard]] bool has_session() const;
    // Root folders of containers that the merge needs, listed in the folder. Null if there are
    // none, or if the list cannot be written.
    [[nodiscard]] std::shared_ptr<KeptRoots> take_roots();

    // Of the last recording.
    [[nodiscard]] const trace::Session& session() const { return session_; }
    [[nodiscard]] const std::filesystem::path& folder() const { return folder_; }
    // The name of its event; empty before the first recording.
    [[nodiscard]] const std::string& event() const { return event_; }

  private:
    trace::Session session_;
    std::filesystem::path folder_;
    std::string event_;
    RecordingBudget budget_;
    std::shared_ptr<KeptRoots> roots_;
};

}  // namespace lagtrap::daemon
