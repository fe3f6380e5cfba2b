#include <chrono>
#include <csignal>
#include <ctime>

#include <boost/json.hpp>

#include "analysis/command_life.hpp"
#include "analysis/recording.hpp"
#include "cli/bundles/confined_decoding.hpp"
#include "cli/commands.hpp"
#include "cli/console/interrupt.hpp"
#include "cli/console/text_layout.hpp"
#include "cli/control/process_name.hpp"
#include "cli/daemons/recording_source.hpp"
#include "cli/why/child_command.hpp"
#include "cli/why/last_runs.hpp"
#include "cli/why/life_json.hpp"
#include "cli/why/life_text.hpp"
#include "cli/why/lock_owners.hpp"
#include "cli/why/waited_files.hpp"
#include "cli/why/why_json.hpp"
#include "cli/why/why_text.hpp"
#include "core/duration.hpp"

namespace lagtrap::cli {
namespace {

namespace json = boost::json;
using namespace std::chrono_literals;

constexpr std::chrono::nanoseconds shortest_recording = 10ms;
constexpr std::chrono::nanoseconds longest_recording = 10min;
// Exit codes if the command could not be run, as in env(1).
constexpr int exit_not_run = 125;
constexpr int exit_not_executable = 126;
constexpr int exit_no_such_command = 127;

// Parses the length of a recording; `option` is named in errors.
Result<std::chrono::nanoseconds> length_of(const char* option, const std::string& text) {
    const auto length = parse_duration(text);
    if (!length) return make_error(ErrorKind::Invalid, std::string(option) + ": " + length.error().message);
    if (*length < shortest_recording || *length > longest_recording)
        return make_error(ErrorKind::Invalid, std::string(option) + ": expected 10ms to 10min");
    return *length;
}

void tell(const WhyOptions& options, const Console& console, const std::string& text) {
    if (!options.json) console.err << wrap_words(text, console.columns, 0) << std::flush;
}

Result<std::string> text_of_process(const analysis::Recording& recording, std::uint32_t pid, const WhyOptions& options,
                                    const WhyLook& look) {
    bool known = false;
    for (const analysis::Thread& thread : recording.threads) known |= thread.pid == pid;
    if (!known)
        return make_error(ErrorKind::Vanished,
                          "process " + std::to_string(pid) + " had ended before the recording began");
    return options.json ? json::serialize(why_json(recording, pid, look)) + "\n" : why_text(recording, pid, look);
}

// A thread that has not run since before the recording still waits for the same lock.
std::map<std::uint32_t, std::uint32_t> owners_of_stopped(std::uint32_t pid,
                                                         const std::map<std::uint32_t, std::uint64_t>& stopped) {
    std::map<std::uint32_t, std::uint32_t> owners = lock_owners(pid);
    std::erase_if(owners, [&](const auto& one) { return !stopped.contains(one.first); });
    return owners;
}

Result<std::string> look_at_process(const WhyOptions& options, const Console& console) {
    TRY_ASSIGN(const auto length, length_of("--for", options.length));
    TRY_ASSIGN(const std::uint32_t pid, find_process(options.target));
    note_interrupts_while_waiting();
    TRY_ASSIGN(const auto source, RecordingSource::find(options.socket, interrupted));
    tell(options, console, "Recording for " + format_duration(length) + " ...");
    const LastRuns before = last_runs_of(pid);
    const std::uint64_t began_ns = scheduler_clock_ns();
    TRY(source->begin(length));
    TRY(source->await_end([] { return interrupted != 0; }));
    const auto stopped = stopped_before(before, last_runs_of(pid), began_ns);
    const auto files = waited_files(pid);
    const auto owners = owners_of_stopped(pid, stopped);
    tell(options, console, "Reading the recording ...");
    TRY_ASSIGN(const auto bundle, source->bundle());
    return decode_confined(bundle, [&](const std::filesystem::path& opened) -> Result<std::string> {
        TRY_ASSIGN(auto recording, analysis::read_recording(opened));
        recording.lock_owners = owners;
        return text_of_process(recording, pid, options, {console.paint, console.columns, options.all, stopped, files});
    });
}

std::uint64_t now_ns() {
    timespec now{};
    ::clock_gettime(CLOCK_BOOTTIME, &now);  // the clock of recordings
    return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
}

std::string words_of(const std::vector<std::string>& command) {
    std::string text;
    for (const std::string& word : command) text += (text.empty() ? "" : " ") + word;
    return text;
}

// Runs a command while recording, then reports on it.
class Command {
  public:
    Command(const WhyOptions& options, Console& console) : options_(options), console_(console) {}

    // Returns the command's exit code, or an error if it did not run. Prints later errors, which do
    // not change the exit code.
    Result<int> run() {
        TRY_ASSIGN(const auto limit, length_of("--limit", options_.limit));
        note_interrupts_while_waiting();
        TRY_ASSIGN(const auto source, RecordingSource::find(options_.socket, interrupted));
        TRY_ASSIGN(auto child, ChildCommand::prepare(options_.command));
        TRY(source->begin(limit));
        TRY(live(child, *source, limit));
        const auto text = report(child, *source);
        if (text)
            console_.err << *text << std::flush;
        else
            console_.fail(text.error().message);
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
        return decode_confined(bundle, [&](const std::filesystem::path& opened) -> Result<std::string> {
            TRY_ASSIGN(const auto recording, analysis::read_recording(opened));
            const auto life = analysis::life_of_command(
                recording,
                analysis::run_of_command(recording, static_cast<std::uint32_t>(child.pid()), begin_ns_, end_ns_));
            if (options_.json) return json::serialize(life_json(recording, life, facts_)) + "\n";
            return "\n" + life_text(recording, life, facts_, console_.paint, console_.columns);
        });
    }

    const WhyOptions& options_;
    Console& console_;
    LifeFacts facts_;
    std::uint64_t begin_ns_ = 0, end_ns_ = 0;
};

int look_at_command(const WhyOptions& options, Console& console) {
    const auto code = Command(options, console).run();
    if (code) return *code;
    console.fail(code.error().message);
    if (code.error().system_errno == ENOENT) return exit_no_such_command;
    return code.error().system_errno == EACCES ? exit_not_executable : exit_not_run;
}

}  // namespace

int say_why(const WhyOptions& options, Console& console) {
    if (!options.command.empty()) return look_at_command(options, console);
    const auto text = look_at_process(options, console);
    if (!text) return console.fail(text.error().message);
    console.out << *text;
    return exit_done;
}

}  // namespace lagtrap::cli
