#include <algorithm>
#include <chrono>
#include <sstream>

#include <boost/json.hpp>

#include "cli/bundles/bundle_finder.hpp"
#include "cli/commands.hpp"
#include "cli/control/control_client.hpp"
#include "cli/control/status_fields.hpp"
#include "cli/status/live_view.hpp"
#include "cli/status/terminal.hpp"
#include "core/clock.hpp"
#include "trace/bundle/bundle.hpp"

namespace lagtrap::cli {

namespace {

using boost::json::object;

class Live {
  public:
    Live(const LiveOptions& options, Terminal& terminal, const Paint& paint)
        : options_(options), terminal_(terminal), paint_(paint) {}

    void show(object first) {
        state_.take(std::move(first), monotonic_ns(), ClockSnapshot::take().realtime_ns);
        std::uint64_t next_ns = monotonic_ns() + interval_ns();
        while (!done_) {
            draw();
            const std::uint64_t now_ns = monotonic_ns();
            const auto timeout = std::chrono::milliseconds(
                next_ns > now_ns ? (next_ns - now_ns) / 1'000'000 + 1 : 0);
            const auto key = terminal_.wait(timeout);
            if (key) {
                if (!page_.empty()) {
                    read_page(*key);
                } else {
                    press(*key);
                }
            }
            if (monotonic_ns() < next_ns) continue;
            next_ns = monotonic_ns() + interval_ns();
            if (!paused_) refresh();
        }
    }

  private:
    [[nodiscard]] std::uint64_t interval_ns() const {
        return static_cast<std::uint64_t>(std::chrono::nanoseconds(options_.interval).count());
    }

    void refresh() {
        auto answer = ask_daemon(options_.socket, {{"command", "status"}});
        if (!answer) return state_.fail(answer.error().message);
        if (!state_.take(std::move(answer).value(), monotonic_ns(),
                         ClockSnapshot::take().realtime_ns))
            return;
        const auto path = last_bundle();
        if (!path) return;
        const auto xml = trace::read_bundle_system_file(*path);
        if (!xml) return;
        if (const auto system = trace::read_system_file(*xml)) state_.add_delays(*system);
    }

    // The bundle may have been sent since, and is then elsewhere in the spool.
    [[nodiscard]] Result<std::filesystem::path> last_bundle() const {
        const object& last = part(state_.answer(), "last_bundle");
        const std::filesystem::path path = text(last, "path");
        if (path.empty()) return find_bundle({}, options_.spool);
        std::error_code ignored;
        if (std::filesystem::exists(path, ignored)) return path;
        return find_bundle(text(last, "session"), path.parent_path().parent_path());
    }

    void draw() {
        const ScreenSize size = terminal_.size();
        if (page_.empty())
            return terminal_.draw(
                state_.screen(paint_, size, paused_ ? "paused; p resumes" : message_));
        std::vector<std::string> lines;
        const std::size_t room = page_room();
        for (std::size_t i = top_; i < std::min(page_.size(), top_ + room); ++i)
            lines.push_back(cut_end(page_[i], size.columns));
        lines.resize(room);
        lines.push_back(paint_(
            Colour::Dim, cut_end("q back  up/down  page up/down  line " + std::to_string(top_ + 1) +
                                     " of " + std::to_string(page_.size()),
                                 size.columns)));
        terminal_.draw(lines);
    }

    [[nodiscard]] std::size_t page_room() const {
        return std::max<std::size_t>(terminal_.size().rows, 2) - 1;
    }

    // Shows a command's output in pages.
    template <typename Command>
    void open_page(Command command) {
        std::ostringstream out, errors;
        Console console{out, errors, Paint(false),
                        std::max<std::size_t>(terminal_.size().columns, 60)};
        if (command(console) != exit_done) {
            message_ = errors.str().substr(0, errors.str().find('\n'));
            return;
        }
        page_.clear();
        std::istringstream lines(out.str());
        for (std::string line; std::getline(lines, line);) add_to_page(line, console.columns);
        if (page_.empty()) page_.emplace_back();
        top_ = 0;
    }

    // Lines wider than the screen continue on the next line.
    void add_to_page(const std::string& line, std::size_t columns) {
        if (width_of(line) <= columns) return page_.push_back(line);
        const std::size_t indent = std::min(line.find_first_not_of(' '), columns / 2);
        std::istringstream parts(wrap_words(line, columns, indent));
        for (std::string part; std::getline(parts, part);) page_.push_back(std::move(part));
    }

    void read_page(const KeyPress& press) {
        const std::size_t room = page_room();
        const std::size_t last = page_.size() > room ? page_.size() - room : 0;
        switch (press.key) {
            case Key::Up: top_ -= std::min<std::size_t>(top_, 1); break;
            case Key::Down: top_ = std::min(top_ + 1, last); break;
            case Key::PageUp: top_ -= std::min(top_, room); break;
            case Key::PageDown: top_ = std::min(top_ + room, last); break;
            case Key::Home: top_ = 0; break;
            case Key::End: top_ = last; break;
            case Key::Escape: page_.clear(); break;
            case Key::Closed: done_ = true; break;
            case Key::Resized: top_ = std::min(top_, last); break;
            case Key::Letter:
                if (press.letter == 'q') page_.clear();
                if (press.letter == ' ') top_ = std::min(top_ + room, last);
                break;
        }
    }

    void tell(const char* command, const std::string& said) {
        object request{{"command", command}};
        if (std::string_view(command) == "trigger") request["event"] = state_.chosen();
        const auto answer = ask_daemon(options_.socket, request);
        message_ = answer ? said : answer.error().message;
    }

    void press(const KeyPress& press) {
        if (press.key != Key::Resized) message_.clear();
        if (press.key == Key::Up) state_.choose(-1);
        if (press.key == Key::Down) state_.choose(1);
        if (press.key == Key::Closed) done_ = true;
        if (press.key != Key::Letter) return;
        switch (press.letter) {
            case 'q': done_ = true; break;
            case 'p': paused_ = !paused_; break;
            case 't':
                if (!state_.chosen().empty()) tell("trigger", "recording for " + state_.chosen());
                break;
            case 'a': tell("approve", "approved: the recording is kept"); break;
            case 'd': tell("decline", "declined: the recording is discarded"); break;
            case 'e':
                if (state_.chosen().empty()) break;
                open_page([&](Console& console) {
                    ControlOptions explained;
                    explained.socket = options_.socket;
                    explained.event = state_.chosen();
                    return explain_event(explained, console);
                });
                break;
            case 'r': open_report(); break;
            default: break;
        }
    }

    void open_report() {
        const auto path = last_bundle();
        if (!path) {
            message_ = path.error().message;
            return;
        }
        open_page([&](Console& console) {
            ReportOptions report;
            report.bundles = {path->string()};
            return show_report(report, console);
        });
    }

    const LiveOptions& options_;
    Terminal& terminal_;
    const Paint paint_;
    LiveState state_;
    std::string message_;
    std::vector<std::string> page_;  // empty while the events are shown
    std::size_t top_ = 0;
    bool paused_ = false;
    bool done_ = false;
};

}  // namespace

int show_live(const LiveOptions& options, Console& console) {
    auto first = ask_daemon(options.socket, {{"command", "status"}});
    if (!first) return console.fail(first.error().message);
    const auto terminal = Terminal::open();
    if (!terminal) return console.fail(terminal.error().message);
    Live(options, **terminal, console.paint).show(std::move(first).value());
    return exit_done;
}

}  // namespace lagtrap::cli
