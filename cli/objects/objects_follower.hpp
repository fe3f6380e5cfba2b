// What a machine tells live of objects, as a server has it.
#pragma once

#include <chrono>
#include <csignal>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "uploader/transfer.hpp"

namespace lagtrap::cli {

struct FollowOptions {
    std::string url;  // of the server
    std::string token_file, ca_file;
    std::string watch;          // an id; empty: the newest one of
    std::string host, process;  // these; empty: any. A process by number or name
};

struct WatchOnServer {
    std::string id, host, process;
    std::uint32_t pid = 0;
    bool ended = false;
};

// What stood in one part, or was lost before it.
struct FollowedPart {
    std::uint64_t lost_lines = 0;  // that the sender could not send
    std::uint32_t lost_parts = 0;  // that did not come
    std::uint32_t number = 0;      // of the part, from 1
    bool last = false;
    std::vector<std::string> lines;
};

class ObjectsFollower {
  public:
    using Clock = std::chrono::steady_clock;
    // A part that others have overtaken is waited for so long.
    static constexpr std::chrono::seconds gap_patience{15};

    // Errors: the address, the token or the server, and what to do about it. NotFound: no watch is what was asked for.
    [[nodiscard]] static Result<ObjectsFollower> find(const FollowOptions& options);
    [[nodiscard]] const WatchOnServer& watch() const { return watch_; }
    // What has come since the last call, in order; empty: nothing, and it may be asked again in a second. Errors: as find(); Busy: the
    // server may answer later; NotFound: it has removed the watch.
    [[nodiscard]] Result<std::vector<FollowedPart>> next(Clock::time_point now, const volatile std::sig_atomic_t& stop);

  private:
    ObjectsFollower(uploader::Transfer transfer, WatchOnServer watch, bool has_token)
        : transfer_(std::move(transfer)), watch_(std::move(watch)), has_token_(has_token) {}
    [[nodiscard]] Status take(const std::string& answer);

    uploader::Transfer transfer_;
    WatchOnServer watch_;
    bool has_token_;
    std::uint32_t given_ = 0;                      // number of the last part that was given
    std::map<std::uint32_t, FollowedPart> ahead_;  // after a gap
    std::optional<Clock::time_point> gap_since_;
};

}  // namespace lagtrap::cli
