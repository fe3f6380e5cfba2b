// Sends something out, once: over HTTP or as a mail.
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "core/result.hpp"

namespace lagtrap::server {

struct Outgoing {
    std::string url;                     // http(s)://... is posted to, smtp(s)://... gets a mail
    std::vector<std::string> headers{};  // "Name: value"
    std::string body;
    std::string user{}, password{};
    std::string mail_from{};
    std::vector<std::string> mail_to{};
};

// Whether what is posted may go to this machine, its links, and a cloud's metadata (is_local_receiver()). Mails may.
enum class Receivers { NotLocal, Any };

// Waits ten seconds for a connection, twenty in all; follows no redirections and reads 4 KiB of the answer at most. An
// answer other than 2xx is an error that says what came; errors name the host alone, as paths may be secrets. A mail with a
// password goes over TLS or not at all. Ends early, with ErrorKind::Vanished, once `stopping` is set. Any thread.
// ErrorKind::Denied: `receivers` leave no address of the host, however its name is resolved; nothing was sent.
[[nodiscard]] Status send_out(const Outgoing& outgoing, Receivers receivers, const std::atomic<bool>& stopping);

}  // namespace lagtrap::server
