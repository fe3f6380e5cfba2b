#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <ctime>

#include <boost/json.hpp>
#include <fmt/core.h>

#include "analysis/command_life.hpp"
#include "analysis/recording.hpp"
#include "cli/bundles/confined_decoding.hpp"
#include "cli/commands.hpp"
#include "cli/console/interrupt.hpp"
#include "cli/console/text_layout.hpp"
#include "cli/daemons/recording_source.hpp"
#include "cli/why/child_command.hpp"
#include "cli/why/last_runs.hpp"
#include "cli/why/life_json.hpp"
#include "cli/why/life_text.hpp"
#include "cli/why/lock_owners.hpp"
#include "cli/why/repeated_reports.hpp"
#include "cli/why/report_output.hpp"
#include "cli/why/waited_files.hpp"
#include "cli/why/why_report.hpp"
#include "cli/why/why_target.hpp"
#include "core/duration.hpp"

namespace lagtrap::cli {
namespace {

namespace json = boost::json;
using namespace std::chrono_literals;

void tell(const WhyOptions& options, const Console& console, const std::string& text) {
    if (!options.json) console.err << wrap_words(text, console.columns, 0) << std::flush;
}

// A temporary daemon takes some seconds to start. Without a person who waits, standard error is the
// command's alone.
void tell_of_preparation(const WhyOptions& options, const Console& console) {
    if (::isatty(STDERR_FILENO) == 1) tell(options, console, "Preparing to record ...");
}

constexpr std::size_t processes_examined = 100;  // whose open files and locks are read

// What `read` returns for each process, in one map.
template <typename Read>
auto of_all(const WhyTarget& target, const Read& read) -> decltype(read(0)) {
    decltype(read(0)) all;
    std::size_t count = 0;
    for (const std::uint32_t pid : target.pids)
        if (count++ < processes_examined) all.merge(read(pid));
    return all;
}

// A thread that has not run since before the recording still waits for the same lock.
std::map<std::uint32_t, std::uint32_t> owners_of_stopped(
    const WhyTarget& target, const std::map<std::uint32_t, std::uint64_t>& stopped) {
    auto owners = of_all(target, [](std::uint32_t pid) { return lock_owners(pid); });
    std::erase_if(owners, [&](const auto& one) { return !stopped.contains(one.first); });
    return owners;
}

// Records the machine and explains what the processes do.
class Look {
  public:
    Look(const WhyOptions& options, const Console& console)
        : options_(options), console_(console) {}

    // Call it once, before once(). While `stop` is not set, once() can be called again.
    Status start() {
        TRY_ASSIGN(length_, recording_length("--for", options_.length));
        TRY_ASSIGN(target_, find_why_target(options_.target));
        note_interrupts_while_waiting();
        tell_of_preparation(options_, console_);
        // A command that repeats would keep the running daemon's recorder from its events.
        const bool apart = options_.watch && ::geteuid() == 0;
        TRY_ASSIGN(source_, RecordingSource::find(apart ? "" : options_.socket, interrupted));
        tell(options_, console_,
             "Recording for " + format_duration(length_) +
                 (options_.watch ? " at a time; Ctrl-C ends it ..." : " ..."));
        return success();
    }

    Result<std::string> once() {
        const auto last_runs = [](std::uint32_t pid) { return last_runs_of(pid); };
        const LastRuns before = of_all(target_, last_runs);
        const std::uint64_t began_ns = scheduler_clock_ns();
        TRY(source_->begin(length_));
        TRY(source_->await_end([] { return interrupted != 0; }));
        if (options_.watch && interrupted != 0)
            return make_error(ErrorKind::Vanished, "interrupted");
        const auto stopped = stopped_before(before, of_all(target_, last_runs), began_ns);
        const auto files = of_all(target_, [](std::uint32_t pid) { return waited_files(pid); });
        const auto owners = owners_of_stopped(target_, stopped);
        add_new_processes(target_);
        if (!options_.watch) tell(options_, console_, "Reading the recording ...");
        TRY_ASSIGN(const auto bundle, source_->bundle());
        auto text = decode_confined(
            bundle, [&](const std::filesystem::path& opened) -> Result<std::string> {
                TRY_ASSIGN(auto recording, analysis::read_recording(opened));
                recording.lock_owners = owners;
                return why_report(recording, target_, options_.json,
                                  {options_.output.empty() ? console_.paint : Paint(false),
                                   console_.columns, options_.all, stopped, files});
            });
        std::error_code ignored;
        if (source_->is_temporary()) std::filesystem::remove(bundle, ignored);
        return text;
    }

    // The unit may have been restarted.
    Status find_again() {
        TRY_ASSIGN(target_, find_why_target(options_.target));
        return success();
    }

  private:
    const WhyOptions& options_;
    const Console& console_;
    std::chrono::nanoseconds length_{};
    WhyTarget target_;
    std::unique_ptr<RecordingSource> source_;
};

int look_at_processes(const WhyOptions& options, Console& console) {
    Look look(options, console);
    const auto fail = [&](const std::string& message) { return console.fail(message); };
    ReportOutput output;
    if (const Status opened = output.open(options.output); !opened)
        return fail(opened.error().message);
    if (const Status started = look.start(); !started) return fail(started.error().message);
    if (options.watch)
        return repeat_reports(
            [&look](bool first) -> Result<std::string> {
                if (!first) TRY(look.find_again());
                return look.once();
            },
            console);
    const auto text = look.once();
    if (!text) return fail(text.error().message);
    if (const Status written = output.write(*text, console.out); !written)
        return fail(written.error().message);
    return exit_done;
}

std::uint64_t now_ns() {
    timespec now{};
    ::clock_gettime(CLOCK_BOOTTIME, &now);  // the clock of recordings
    return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 +
           static_cast<std::uint64_t>(now.tv_nsec);
}

// Runs a command while recording, then reports on it.
class Command {
  public:
    Command(const WhyOptions& options, Console& console) : options_(options), console_(console) {}

    // Returns the command's exit code, or an error if it did not run. Prints later errors, which do
    // not change the exit code.
    Result<int> run() {
        TRY_ASSIGN(const auto limit, recording_length("--limit", options_.limit));
        TRY(output_.open(options_.output));
        note_interrupts_while_waiting();
        tell_of_preparation(options_, console_);
        TRY_ASSIGN(const auto source, RecordingSource::find(options_.socket, interrupted));
        TRY_ASSIGN(auto child, ChildCommand::prepare(options_.command));
        TRY(source->begin(limit));
        TRY(live(child, *source, limit));
        const auto text = report(child, *source);
        const Status written = text ? output_.write(*text, console_.err) : Status(text.error());
        if (!written) console_.fail(written.error().message);
        return facts_.exit_code;
    }

  private:
    Status live(ChildCommand& child, RecordingSource& source, std::chrono::nanoseconds limit) {
        // Ctrl-C is meant for the command.
        ::signal(SIGINT, SIG_IGN);
        ::signal(SIGQUIT, SIG_IGN);
        begin_ns_ = now_ns();
        TRY(child.go());
        facts_.beyond_limit = !child.ends_within(limit);
        if (facts_.beyond_limit) child.wait();
        end_ns_ = now_ns();
        source.finish();
        facts_.command = words_of(options_.command);
        facts_.took_ns = end_ns_ - begin_ns_;
        facts_.exit_code = child.exit_code();
        note_interrupts_while_waiting();
        return success();
    }

    Result<std::string> report(const ChildCommand& child, RecordingSource& source) const {
        TRY(source.await_end([] { return interrupted != 0; }));
        TRY_ASSIGN(const auto bundle, source.bundle());
        return decode_confined(
            bundle, [&](const std::filesystem::path& opened) -> Result<std::string> {
                TRY_ASSIGN(const auto recording, analysis::read_recording(opened));
                const auto life = analysis::life_of_command(
                    recording,
                    analysis::run_of_command(recording, static_cast<std::uint32_t>(child.pid()),
                                             begin_ns_, end_ns_));
                if (options_.json)
                    return json::serialize(life_json(recording, life, facts_)) + "\n";
                return (output_.is_file() ? "" : "\n") +
                       life_text(recording, life, facts_, paint(), console_.columns);
            });
    }

    [[nodiscard]] Paint paint() const { return output_.is_file() ? Paint(false) : console_.paint; }

    const WhyOptions& options_;
    Console& console_;
    ReportOutput output_;
    LifeFacts facts_;
    std::uint64_t begin_ns_ = 0, end_ns_ = 0;
};

int look_at_command(const WhyOptions& options, Console& console) {
    const auto code = Command(options, console).run();
    if (code) return *code;
    console.fail(code.error().message);
    return exit_code_of_failed_start(code.error());
}

}  // namespace

int say_why(const WhyOptions& options, Console& console) {
    if (!options.command.empty()) return look_at_command(options, console);
    return look_at_processes(options, console);
}

}  // namespace lagtrap::cli
