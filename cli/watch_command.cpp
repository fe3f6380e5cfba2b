#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include <boost/json.hpp>

#include "cli/add/add_write.hpp"
#include "cli/bundles/confined_reading.hpp"
#include "cli/commands.hpp"
#include "cli/console/interrupt.hpp"
#include "cli/console/text_layout.hpp"
#include "cli/control/status_fields.hpp"
#include "cli/daemons/watch_source.hpp"
#include "cli/watch/watch_check.hpp"
#include "cli/watch/watch_event.hpp"
#include "cli/watch/watch_function.hpp"
#include "cli/watch/watch_text.hpp"
#include "cli/watch/watched_delays.hpp"
#include "cli/why/child_command.hpp"
#include "core/duration.hpp"
#include "core/text.hpp"

namespace lagtrap::cli {
namespace {

using namespace std::chrono_literals;
using WatchClock = std::chrono::steady_clock;

constexpr auto time_between_looks = 250ms;

// While runs are looked at to choose a threshold.
constexpr const char* longest_threshold = "1h";
constexpr auto look_time = 10s;

Status check_choice(const WatchOptions& options) {
    const auto given = [](const std::string& text) { return text.empty() ? 0 : 1; };
    if (given(options.function) + given(options.usdt) + given(options.syscall) +
            given(options.preset) + given(options.tracepoint) !=
        1)
        return make_error(ErrorKind::Invalid,
                          "say what to watch: one of --function, --usdt, --syscall, --tracepoint "
                          "and --preset");
    if (options.tracepoint.empty() != options.until.empty())
        return make_error(ErrorKind::Invalid,
                          options.until.empty()
                              ? "--until is missing: the tracepoint where a run ends"
                              : "--until is the end of a run that begins at --tracepoint");
    if (!options.key.empty() && options.tracepoint.empty())
        return make_error(ErrorKind::Invalid, "--key is for --tracepoint");
    if (!options.preset.empty() && !options.stages.empty())
        return make_error(ErrorKind::Invalid, "--stage is not for presets, which have their own");
    if (!options.command.empty() && options.over.empty() && options.preset.empty())
        return make_error(ErrorKind::Invalid,
                          "--over is missing: a command begins only when it is watched");
    if (options.over.empty()) return success();
    const auto over = parse_duration(options.over);
    return over ? success()
                : Status(make_error(ErrorKind::Invalid, "--over " + printable(options.over) + ": " +
                                                            over.error().message));
}

Result<WatchWish> wish_of(const WatchOptions& options) {
    TRY(check_choice(options));
    WatchWish wish{
        options.function,   options.usdt,  options.syscall, options.preset, options.over, {}, {},
        options.tracepoint, options.until, options.key,     options.stages};
    TRY(check_names(wish));
    const std::string where = !options.in.empty()       ? options.in
                              : options.command.empty() ? std::string()
                                                        : options.command.front();
    if (where.empty()) {
        if (std::all_of(wish.stages.begin(), wish.stages.end(), is_marker_name)) return wish;
        return make_error(ErrorKind::Invalid,
                          "--in is missing: the program with the function of --stage");
    }
    TRY_ASSIGN(wish.target, find_target(where));
    if (!wish.syscall.empty()) TRY(check_calls_of(readable_file(*wish.target)));
    std::uint32_t pid = 0;
    const char* const end = options.in.data() + options.in.size();
    const auto read = std::from_chars(options.in.data(), end, pid);
    if (read.ec == std::errc{} && read.ptr == end) wish.pid = pid;
    if (!wish.function.empty()) {
        TRY_ASSIGN(wish.function, find_function(*wish.target, wish.function));
    }
    for (std::string& stage : wish.stages)
        if (!is_marker_name(stage)) {
            TRY_ASSIGN(stage, find_function(*wish.target, stage));
        }
    return wish;
}

// How a watch goes on.
struct Looks {
    bool command_has_ended = false;
    unsigned without_news = 0;  // since then, one after the other
};

class Watch {
  public:
    Watch(const WatchOptions& options, WatchWish wish, Console& console)
        : options_(options),
          console_(console),
          wish_(std::move(wish)),
          delays_(console, options.full, options.keep) {}

    // Returns the exit code: that of the command, if there is one.
    Result<int> run() {
        TRY(delays_.prepare());
        if (!options_.command.empty()) {
            TRY_ASSIGN(auto command, ChildCommand::prepare(options_.command));
            command_.emplace(std::move(command));
            wish_.pid = static_cast<std::uint32_t>(command_->pid());
            wish_.descendants = true;
        }
        if (wish_.over.empty() && wish_.preset.empty()) TRY(choose_threshold());
        if (interrupted == 0) TRY(wait_for_delays());
        sum_up();
        source_.reset();
        if (!command_) return exit_done;
        command_->wait();
        return command_->exit_code();
    }

    // The element for the settings.
    [[nodiscard]] Result<std::string> saved() const {
        WatchWish lasting = wish_;
        lasting.pid = {};  // useless once the process has ended
        if (lasting.target) lasting.target->outdated = false;
        return watch_element(lasting);
    }

  private:
    Status start() {
        TRY_ASSIGN(const std::string element, watch_element(wish_));
        TRY_ASSIGN(source_, WatchSource::start(element, options_.socket, interrupted));
        began_ = WatchClock::now();
        TRY_ASSIGN(const auto status, source_->status());
        watched_ = watched_in(status);
        return watched_.problem.empty() ? success()
                                        : Status(make_error(ErrorKind::Invalid, watched_.problem));
    }

    void tell(const std::string& text) {
        clear_progress();
        console_.err << wrap_words(text, console_.columns, 0) << std::flush;
    }

    // Looks until there was a run, but at least for look_time.
    Status choose_threshold() {
        wish_.over = longest_threshold;
        TRY(start());
        tell("Looking at runs for " + format_duration(look_time) + " to choose a threshold ...");
        const auto end = began_ + look_time;
        while (interrupted == 0 && (WatchClock::now() < end || watched_.runs == 0)) {
            std::this_thread::sleep_for(time_between_looks);
            TRY(look());
        }
        source_->end();
        wish_.over = threshold_from(watched_).value_or("");
        if (interrupted != 0) return success();
        tell(runs_text(watched_, WatchClock::now() - began_) + ". Runs over " + wish_.over +
             " are slow.");
        return success();
    }

    Status wait_for_delays() {
        TRY(start());
        if (!source_->why_temporary().empty())
            tell("The running lagtrapd cannot watch this, so a temporary one does: " +
                 source_->why_temporary());
        console_.err << "Watching; Ctrl-C ends it.\n" << std::flush;
        if (command_) TRY(command_->go());
        while (delays_.reported() < options_.count && interrupted == 0 && !is_over()) {
            pause();
            TRY(look());
        }
        return success();
    }

    // What the command did last may still be on its way to a report.
    [[nodiscard]] bool is_over() const {
        constexpr unsigned enough = 3;
        return looks_.without_news >= enough;
    }

    void pause() {
        if (command_ && !looks_.command_has_ended)
            looks_.command_has_ended = command_->ends_within(time_between_looks);
        else
            std::this_thread::sleep_for(time_between_looks);
    }

    // An interrupt is no error, wherever it comes.
    Status look() {
        const Status seen = take_status();
        return interrupted == 0 ? seen : success();
    }

    Status take_status() {
        TRY_ASSIGN(const auto status, source_->status());
        watched_ = watched_in(status);
        show_progress(status);
        const bool has_news = !part(status, "capture").empty() ||
                              number(part(status, "captures"), "waiting") > 0 ||
                              text(part(status, "last_bundle"), "path") != last_bundle_;
        if (has_news || !looks_.command_has_ended)
            looks_.without_news = 0;
        else
            ++looks_.without_news;
        return show_new_report(status);
    }

    Status show_new_report(const boost::json::object& status) {
        const std::string path = text(part(status, "last_bundle"), "path");
        if (path.empty() || path == last_bundle_) return success();
        last_bundle_ = path;
        const bool is_first = delays_.reported() == 0;
        TRY_ASSIGN(const auto bundle, source_->bundle(path));
        TRY_ASSIGN(const auto report, delays_.report(bundle, path));
        clear_progress();
        console_.out << (is_first ? "" : "\n") << report << std::flush;
        return success();
    }

    void show_progress(const boost::json::object& status) {
        if (!on_terminal_) return;
        std::string line = progress_text(watched_, WatchClock::now() - began_);
        if (!part(status, "capture").empty())
            line = "recording; " + line;
        else if (number(part(status, "captures"), "waiting") > 0)
            line = "reading the recording; " + line;
        console_.err << "\r\033[K" << cut_end(line, console_.columns - 1) << std::flush;
    }

    void clear_progress() {
        if (on_terminal_) console_.err << "\r\033[K" << std::flush;
    }

    void sum_up() {
        console_.out << delays_.text() << std::flush;
        tell(summary_text(watched_, WatchClock::now() - began_, delays_.reported()));
        console_.err << distribution_text(watched_) << std::flush;
    }

    const WatchOptions& options_;
    Console& console_;
    const bool on_terminal_ = ::isatty(STDERR_FILENO) == 1;
    WatchWish wish_;
    WatchedDelays delays_;
    std::optional<ChildCommand> command_;
    std::unique_ptr<WatchSource> source_;
    WatchClock::time_point began_;
    Watched watched_;
    std::string last_bundle_;
    Looks looks_;
};

// Prints the event for the settings, or writes it into them.
Status save(const std::string& element, const WatchOptions& options, Console& console) {
    console.out << "\n" << console.paint(Colour::Bold, "For the settings") << "\n" << element;
    if (!options.write) return success();
    TRY(add_to_settings(options.settings, element));
    TRY_ASSIGN(const auto said, reload_daemon(options.socket, options.settings));
    console.out << "\n"
                << wrap_words("Written to " + options.settings + ". " + said, console.columns, 0);
    return success();
}

}  // namespace

int watch_event(const WatchOptions& options, Console& console) {
    const auto reading = ConfinedReading::start();
    if (!reading) return console.fail(reading.error().message);
    auto wish = wish_of(options);
    if (!wish) return console.fail(wish.error().message);
    note_interrupts_while_waiting();
    Watch watch(options, std::move(wish).value(), console);
    const auto code = watch.run();
    if (!code) return console.fail(code.error().message);
    if (!options.save && !options.write) return *code;
    const auto element = watch.saved();
    const Status saved = element ? save(*element, options, console) : Status(element.error());
    return saved ? *code : console.fail(saved.error().message);
}

}  // namespace lagtrap::cli
