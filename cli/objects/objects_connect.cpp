#include "cli/objects/objects_connect.hpp"

#include <poll.h>

#include <chrono>
#include <string>
#include <utility>

#include <fmt/core.h>

#include "cli/console/interrupt.hpp"
#include "cli/console/text_layout.hpp"
#include "cli/objects/objects_follower.hpp"
#include "cli/objects/objects_show.hpp"

namespace lagtrap::cli {
namespace {

class Following {
  public:
    Following(const ObjectsOptions& options, ObjectsShow& show, Console& console)
        : options_(options), show_(show), console_(console) {}

    int run() {
        auto follower =
            ObjectsFollower::find({options_.connect, options_.token_file, options_.ca_file,
                                   options_.watch, options_.host, options_.process});
        if (!follower) return console_.fail(follower.error().message);
        const WatchOnServer& watch = follower->watch();
        console_.err << fmt::format("following {} ({}) on {}, watch {}\n", watch.process, watch.pid,
                                    watch.host, watch.id);
        note_interrupts();
        while (interrupted == 0 && !over_) {
            auto parts = follower->next(ObjectsFollower::Clock::now(), interrupted);
            if (!parts && interrupted != 0) break;
            if (!parts && parts.error().kind != ErrorKind::Busy)
                return console_.fail(parts.error().message);
            note(parts ? std::string() : parts.error().message, parts && !parts->empty());
            if (parts)
                for (FollowedPart& part : *parts)
                    if (const Status shown = take(std::move(part)); !shown)
                        return console_.fail(shown.error().message);
            if (!over_ && (!parts || parts->empty())) (void)::poll(nullptr, 0, pause_ms);
        }
        report_losses();
        if (show_.ended()) return exit_done;
        if (over_) return console_.fail("incomplete: the last line is missing");
        show_.show_so_far();
        return exit_done;
    }

  private:
    static constexpr int pause_ms = 1'000;
    static constexpr std::chrono::seconds silence{30};

    Status take(FollowedPart part) {
        if (part.number == part.lost_parts + 1 && part.lost_parts != 0)
            return make_error(ErrorKind::NotFound,
                              "the first part of this watch, which contains the names, is missing, "
                              "so the others cannot be read; start a new watch with --send");
        if (part.lost_parts != 0)
            console_.err << fmt::format(
                "{} before part {} {} not arrived: calls of that time are not shown\n",
                counted(part.lost_parts, "part", "parts"), part.number,
                part.lost_parts == 1 ? "has" : "have");
        lost_lines_ += part.lost_lines;
        lost_parts_ += part.lost_parts;
        over_ = part.last;
        for (const std::string& line : part.lines) TRY(show_.show(line));
        return success();
    }

    // Once per problem, and once if nothing has arrived for a while.
    void note(const std::string& trouble, bool something) {
        const auto now = ObjectsFollower::Clock::now();
        if (something) since_ = now;
        if (!trouble.empty() && !troubled_)
            console_.err << "lagtrap: " << trouble << "; retrying every second\n";
        if (trouble.empty() && troubled_) {
            console_.err << "lagtrap: the server answers again\n";
            since_ = now;
        }
        troubled_ = !trouble.empty();
        const bool silent = !troubled_ && now - since_ > silence;
        if (silent && !silent_)
            console_.err
                << "lagtrap: nothing new for 30 s: is lagtrap-uploader running on that machine?\n";
        silent_ = silent;
    }

    void report_losses() {
        if (lost_lines_ != 0)
            console_.err << fmt::format("{} not sent because the spool was full\n",
                                        counted(lost_lines_, "line", "lines"));
        if (lost_parts_ != 0)
            console_.err << fmt::format(
                "{} did not arrive, or the server had already deleted them\n",
                counted(lost_parts_, "part", "parts"));
    }

    const ObjectsOptions& options_;
    ObjectsShow& show_;
    Console& console_;
    bool over_ = false;
    std::uint64_t lost_lines_ = 0, lost_parts_ = 0;
    bool troubled_ = false, silent_ = false;
    ObjectsFollower::Clock::time_point since_ = ObjectsFollower::Clock::now();
};

}  // namespace

int follow_objects(const ObjectsOptions& options, Console& console, std::uint64_t marked_ns) {
    ObjectsOptions live = options;
    live.tree = !options.json;
    ObjectsShow show(live, console, marked_ns);
    if (const Status ready = show.prepare(); !ready) return console.fail(ready.error().message);
    return Following(live, show, console).run();
}

}  // namespace lagtrap::cli
