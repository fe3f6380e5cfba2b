// Where bundles go, checked.
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
    std::string url;  // without a slash at its end
    std::string token_file;
    std::string ca_file;
    std::string proxy;
    std::chrono::nanoseconds timeout{};  // for one transfer
    std::chrono::seconds connect_timeout{15};
    // A transfer slower than this for so long is given up.
    std::uint32_t slowest_bytes_per_second = 512;
    std::chrono::seconds stall_timeout{60};
};

// An error for an address that is not http or https, that has a query, a fragment or a password in it, or
// that is plain http where that is refused; http to this machine (localhost, 127.0.0.0/8, ::1) is always allowed.
[[nodiscard]] Result<Target> make_target(const settings::Upload& upload, PlainHttp plain_http);

// The address of a bundle or a batch of runs; where a collector takes spans (OTLP over HTTP).
[[nodiscard]] std::string entry_url(const Target& target, spool::EntryKind kind, std::string_view digest);

// The token in a file: one line of at most 4096 printable characters without blanks. The file must not be
// readable for others. Read at each attempt, so that a new token needs no restart.
[[nodiscard]] Result<std::string> read_token(const std::string& path);

}  // namespace lagtrap::uploader
