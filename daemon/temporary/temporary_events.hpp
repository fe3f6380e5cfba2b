// Events of clients of the control socket: each is watched by a lagtrapd of its own, a child of the
// service, for as long as its client stays connected.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/json/array.hpp>

#include "core/log.hpp"
#include "core/result.hpp"
#include "core/unique_fd.hpp"
#include "daemon/control/control_access.hpp"
#include "settings/settings.hpp"

namespace lagtrap::daemon {

// Use it only on the io_context's thread. It waits for no client and no child, except in stop().
class TemporaryEvents {
  public:
    struct Options {
        std::filesystem::path folder;      // contains a folder for each event
        std::vector<std::string> helpers;  // options for lagtrapd: where its helper programs are
        Log log{};
        std::string program = "/proc/self/exe";  // lagtrapd
    };

    TemporaryEvents(boost::asio::io_context& context, Options options);
    ~TemporaryEvents();
    TemporaryEvents(const TemporaryEvents&) = delete;
    TemporaryEvents& operator=(const TemporaryEvents&) = delete;

    // Starts the event `text` (temporary_settings.hpp) for the client at the socket `client`, and
    // tells it. From then on the child answers at the socket, so close it afterwards without
    // reading or writing. `used_ppm` is what the service's own events cost. Errors: the event is
    // refused, or there are too many (Busy).
    [[nodiscard]] Status begin(const std::string& text, const Caller& caller, int client,
                               const settings::Settings& service, std::uint64_t used_ppm);
    // Ends the events of callers that `may_stay` rejects.
    void end_unless(const std::function<bool(const Caller&)>& may_stay);
    // For the status: name, owner, process and cost of each.
    [[nodiscard]] boost::json::array report() const;
    // Ends all and removes their folders, within some seconds.
    void stop();

  private:
    using Clock = std::chrono::steady_clock;
    struct Watch {
        std::string event;
        Caller owner;
        // the child sends its cost through `child`, and ends when that is closed
        UniqueFd client, child;
        std::filesystem::path folder;
        pid_t pid = -1;
        std::uint64_t share_ppm = 0, used_ppm = 0;
        Clock::time_point began;
        Clock::time_point kill_at = Clock::time_point::max();  // set once it was asked to end
    };

    [[nodiscard]] Status start(Watch& watch, const std::string& text,
                               const settings::Settings& service);
    void await_look();
    void look();
    [[nodiscard]] bool has_ended(Watch& watch);
    void settle(const Watch& watch, int wait_status);
    static void ask_to_end(Watch& watch);

    Options options_;
    boost::asio::steady_timer timer_;
    std::vector<Watch> watches_;
};

}  // namespace lagtrap::daemon
