// Follows an object trace that a machine sends live, through a server.
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
    std::string url{};  // of the server
    std::string token_file{}, ca_file{};
    std::string watch{};            // id; empty: the newest watch that matches the next two
    std::string host{}, process{};  // empty for any; a process by id or name
};

struct WatchOnServer {
    std::string id, host, process;
    std::uint32_t pid = 0;
    bool ended = false;
};

// The content of one part, and what was lost before it.
struct FollowedPart {
    std::uint64_t lost_lines = 0;  // that the sender could not send
    std::uint32_t lost_parts = 0;  // that did not arrive
    std::uint32_t number = 0;      // of the part, from 1
    bool last = false;
    std::vector<std::string> lines;
};

class ObjectsFollower {
  public:
    using Clock = std::chrono::steady_clock;
    // How long to wait for a part after later ones have arrived.
    static constexpr std::chrono::seconds gap_timeout{15};

    // Errors concern the address, the token or the server, and say what to do. ErrorKind::NotFound
    // if no watch matches.
    [[nodiscard]] static Result<ObjectsFollower> find(const FollowOptions& options);
    [[nodiscard]] const WatchOnServer& watch() const { return watch_; }
    // Returns the parts that arrived since the last call, in order. If there are none, ask again in
    // a second. Errors as find(); Busy if the server may answer later; NotFound if it has removed
    // the watch.
    [[nodiscard]] Result<std::vector<FollowedPart>> next(Clock::time_point now,
                                                         const volatile std::sig_atomic_t& stop);

  private:
    ObjectsFollower(uploader::Transfer transfer, WatchOnServer watch, bool has_token)
        : transfer_(std::move(transfer)), watch_(std::move(watch)), has_token_(has_token) {}
    [[nodiscard]] Status take(const std::string& answer);

    uploader::Transfer transfer_;
    WatchOnServer watch_;
    bool has_token_;
    std::uint32_t given_ = 0;                      // number of the last part returned
    std::map<std::uint32_t, FollowedPart> ahead_;  // received, but after a gap
    std::optional<Clock::time_point> gap_since_;
};

}  // namespace lagtrap::cli
