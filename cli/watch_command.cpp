#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <memory>
#include <thread>

#include <boost/json.hpp>

#include "analysis/recording.hpp"
#include "cli/bundles/confined_decoding.hpp"
#include "cli/bundles/confined_reading.hpp"
#include "cli/commands.hpp"
#include "cli/console/interrupt.hpp"
#include "cli/console/text_layout.hpp"
#include "cli/control/status_fields.hpp"
#include "cli/daemons/watch_source.hpp"
#include "cli/reports/report_text.hpp"
#include "cli/watch/watch_check.hpp"
#include "cli/watch/watch_event.hpp"
#include "cli/watch/watch_function.hpp"
#include "cli/watch/watch_text.hpp"
#include "core/duration.hpp"
#include "core/text.hpp"

namespace lagtrap::cli {
namespace {

using namespace std::chrono_literals;
using WatchClock = std::chrono::steady_clock;

constexpr auto time_between_looks = 250ms;

Result<WatchWish> wish_of(const WatchOptions& options) {
    WatchWish wish{
        options.function, options.usdt, options.syscall, options.preset, options.over, {}, {}};
    const auto given = [](const std::string& text) { return text.empty() ? 0 : 1; };
    if (given(wish.function) + given(wish.usdt) + given(wish.syscall) + given(wish.preset) != 1)
        return make_error(ErrorKind::Invalid,
                          "say what to watch: one of --function, --usdt, --syscall and --preset");
    if (!wish.over.empty())
        if (const auto over = parse_duration(wish.over); !over)
            return make_error(ErrorKind::Invalid,
                              "--over " + printable(wish.over) + ": " + over.error().message);
    TRY(check_names(wish));
    if (options.in.empty()) return wish;
    TRY_ASSIGN(wish.target, find_target(options.in));
    std::uint32_t pid = 0;
    const char* const end = options.in.data() + options.in.size();
    const auto read = std::from_chars(options.in.data(), end, pid);
    if (read.ec == std::errc{} && read.ptr == end) wish.pid = pid;
    if (!wish.function.empty()) {
        TRY_ASSIGN(wish.function, find_function(*wish.target, wish.function));
    }
    return wish;
}

class Watch {
  public:
    Watch(const WatchOptions& options, Console& console) : options_(options), console_(console) {}

    Status run(const std::string& element) {
        TRY_ASSIGN(source_, WatchSource::start(element, options_.socket, interrupted));
        if (!source_->why_temporary().empty())
            console_.err << wrap_words(
                "The running lagtrapd cannot watch this, so a temporary one does: " +
                    source_->why_temporary(),
                console_.columns, 0);
        began_ = WatchClock::now();
        TRY_ASSIGN(const auto status, source_->status());
        watched_ = watched_in(status);
        if (!watched_.problem.empty()) return make_error(ErrorKind::Invalid, watched_.problem);
        console_.err << "Watching; Ctrl-C ends it.\n" << std::flush;
        while (shown_ < options_.count && interrupted == 0) {
            std::this_thread::sleep_for(time_between_looks);
            if (const Status looked = look(); !looked) {
                if (interrupted != 0) break;
                return looked;
            }
        }
        clear_progress();
        console_.err << wrap_words(summary_text(watched_, WatchClock::now() - began_, shown_),
                                   console_.columns, 0)
                     << std::flush;
        return success();
    }

  private:
    Status look() {
        TRY_ASSIGN(const auto status, source_->status());
        watched_ = watched_in(status);
        show_progress(status);
        return show_new_report(status);
    }

    Status show_new_report(const boost::json::object& status) {
        const std::string path = text(part(status, "last_bundle"), "path");
        if (path.empty() || path == last_bundle_) return success();
        last_bundle_ = path;
        TRY_ASSIGN(const auto bundle, source_->bundle(path));
        const ReportLook look{console_.paint, console_.columns, false};
        TRY_ASSIGN(const auto text,
                   decode_confined(
                       bundle, [&](const std::filesystem::path& opened) -> Result<std::string> {
                           TRY_ASSIGN(const auto recording, analysis::read_recording(opened));
                           return options_.full ? report_text(recording, std::nullopt, look)
                                                : report_beginning(recording, look);
                       }));
        clear_progress();
        console_.out << (shown_ > 0 ? "\n" : "") << text << std::flush;
        ++shown_;
        return success();
    }

    void show_progress(const boost::json::object& status) {
        if (!on_terminal_) return;
        std::string line = runs_text(watched_, WatchClock::now() - began_);
        if (!part(status, "capture").empty())
            line = "recording; " + line;
        else if (number(part(status, "captures"), "waiting") > 0)
            line = "reading the recording; " + line;
        console_.err << "\r\033[K" << cut_end(line, console_.columns - 1) << std::flush;
    }

    void clear_progress() {
        if (on_terminal_) console_.err << "\r\033[K" << std::flush;
    }

    const WatchOptions& options_;
    Console& console_;
    const bool on_terminal_ = ::isatty(STDERR_FILENO) == 1;
    std::unique_ptr<WatchSource> source_;
    WatchClock::time_point began_;
    Watched watched_;
    std::string last_bundle_;
    std::uint64_t shown_ = 0;
};

}  // namespace

int watch_event(const WatchOptions& options, Console& console) {
    const auto reading = ConfinedReading::start();
    if (!reading) return console.fail(reading.error().message);
    auto wish = wish_of(options);
    if (!wish) return console.fail(wish.error().message);
    const auto element = watch_element(*wish);
    if (!element) return console.fail(element.error().message);
    note_interrupts_while_waiting();
    if (const auto watched = Watch(options, console).run(*element); !watched)
        return console.fail(watched.error().message);
    if (!options.save) return exit_done;
    wish->pid = {};  // useless in the settings once the process has ended
    console.out << "\n"
                << console.paint(Colour::Bold, "For the settings") << "\n"
                << *watch_element(*wish);
    return exit_done;
}

}  // namespace lagtrap::cli
