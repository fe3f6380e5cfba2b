// A validated upload destination.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "core/result.hpp"
#include "settings/settings.hpp"
#include "spool/retention.hpp"

namespace lagtrap::uploader {

enum class PlainHttp { Refuse, Allow };

struct Target {
    std::string url;  // without a trailing slash
    std::string token_file;
    std::string ca_file;
    std::string proxy;
    std::chrono::nanoseconds timeout{};  // for one transfer
    std::chrono::seconds connect_timeout{15};
    // A transfer is aborted if it stays below this speed for stall_timeout.
    std::uint32_t slowest_bytes_per_second = 512;
    std::chrono::seconds stall_timeout{60};
};

// Fails if the address is not http or https, contains a query, fragment or password, or is plain
// http where that is refused. Plain http to this machine (localhost, 127.0.0.0/8, ::1) is always
// allowed.
[[nodiscard]] Result<Target> make_target(const settings::Upload& upload, PlainHttp plain_http);

// The address for a bundle or batch of runs; for spans, where the collector accepts them (OTLP over
// HTTP).
[[nodiscard]] std::string entry_url(const Target& target, spool::EntryKind kind,
                                    std::string_view digest);

// Reads the token from a file: one line of at most 4096 printable characters without blanks. The
// file must not be readable by others. It is read for each attempt, so a new token needs no
// restart.
[[nodiscard]] Result<std::string> read_token(const std::string& path);

}  // namespace lagtrap::uploader
