// How the command reaches a lagtrap-server.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include <boost/json/object.hpp>

#include "core/result.hpp"
#include "uploader/transfer.hpp"

namespace lagtrap::cli {

struct ServerAccess {
    std::string url;
    std::string token_file;  // with a token of scope read; empty if the server needs none
    std::string ca_file;     // empty: the certificates that the system trusts
};

// Does not connect yet. Plain HTTP is allowed to this machine only.
[[nodiscard]] Result<uploader::Transfer> reach_server(const ServerAccess& access,
                                                      std::chrono::seconds longest);

// Adds to an error of Transfer what to do, in terms of the command's options.
[[nodiscard]] Error hinted(Error error, bool has_token);

// The server's answer is untrusted: anything but an object is an error.
[[nodiscard]] Result<boost::json::object> object_in(const std::string& answer);
[[nodiscard]] Error not_as_described();

// Text for a query of an address.
[[nodiscard]] std::string percent_encoded(std::string_view text);

}  // namespace lagtrap::cli
