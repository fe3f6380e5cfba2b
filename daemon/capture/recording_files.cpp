#include "daemon/capture/recording_files.hpp"

#include <cstddef>
#include <system_error>
#include <utility>

#include <fmt/core.h>

#include "core/clock.hpp"
#include "core/fault_point.hpp"
#include "core/files.hpp"

namespace lagtrap::daemon {

Status RecordingFiles::begin(trace::Session session, std::filesystem::path folder,
                             const settings::Settings& settings, const Breach* breach,
                             Recorder& recorder, EventMonitor& monitor) {
    session_ = std::move(session);
    folder_ = std::move(folder);
    event_ = settings.events[session_.trigger.event].name;
    FAULT_POINT("capture.begin");
    TRY(make_directories(folder_, 0750));
    FAULT_POINT("capture.made");
    // Containers may come and go during the recording. Start this before the recorder occupies the
    // helpers.
    if (process_inspector())
        roots_ =
            std::make_shared<KeptRoots>(*process_inspector(), breach ? breach->run.begin_pid : 0);
    TRY(recorder.start(folder_, session_, monitor));
    budget_.begin(settings.budget, settings.recording, session_.cpu_count, recorder.use());
    if (breach && !breach->at_deadline) TRY(recorder.add_run(breach->run));
    // Not synced: a sync of a busy disk would delay reading the rings, and the logs are not synced
    // either.
    TRY(write_file(folder_ / "settings.xml", settings.source_text, 0640));
    if (roots_) roots_->await_first_look();
    FAULT_POINT("capture.recording");
    return success();
}

std::optional<std::string> RecordingFiles::keep_budget(Recorder& recorder) {
    if (!budget_.due(monotonic_ns())) return std::nullopt;
    const auto step = budget_.look(recorder.use());
    if (!step) return std::nullopt;
    if (step->kind == settings::BudgetPart::Samples) recorder.sample_every(step->sample_interval);
    if (step->kind == settings::BudgetPart::Switches) recorder.drop_user_stacks_of_switches();
    session_.quality.omitted.push_back(step->sentence);
    return step->sentence;
}

Status RecordingFiles::end(Recorder& recorder, const Status& failure,
                           std::vector<std::string> omitted) {
    KILL_POINT("capture.ending");
    if (roots_) roots_->begin_to_finish();
    Status ended = recorder.stop(session_);
    if (roots_) roots_->finish();
    KILL_POINT("capture.stopped");
    for (std::string& sentence : omitted) session_.quality.omitted.push_back(std::move(sentence));
    if (const std::size_t left_out = roots_ ? roots_->left_out() : 0; left_out > 0)
        session_.quality.omitted.push_back(
            fmt::format("files of {} containers or other mount namespaces could be named only "
                        "while these existed; at most {} are held at once",
                        left_out, KeptRoots::roots_limit));
    session_.finished = ended.ok() && failure.ok();
    if (ended) ended = trace::write_session(folder_, session_);
    return failure ? ended : failure;
}

void RecordingFiles::leave(Recorder& recorder) {
    (void)recorder.stop(session_);
    (void)trace::write_session(folder_, session_);
}

bool RecordingFiles::has_session() const {
    std::error_code ignored;
    return std::filesystem::exists(folder_ / "session.json", ignored);
}

std::shared_ptr<KeptRoots> RecordingFiles::take_roots() {
    std::shared_ptr<KeptRoots> roots = std::exchange(roots_, nullptr);
    if (!roots) return nullptr;
    const trace::HeldRoots held = roots->held();
    if (held.descriptors.empty() || !trace::write_held_roots(folder_, held)) return nullptr;
    return roots;
}

}  // namespace lagtrap::daemon
