// Sends one message over HTTP or as mail.
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

// Whether posts may go to this machine, link-local addresses and a cloud's metadata
// (is_local_receiver()). Mails always may.
enum class Receivers { NotLocal, Any };

// Waits ten seconds for a connection and twenty in all, does not follow redirects, and reads at
// most 4 KiB of the answer. Any answer other than 2xx is an error that quotes it. Errors name only
// the host, because paths may be secret. Sends a mail with a password only over TLS.
// ErrorKind::Vanished soon after `stopping` is set; Denied, with nothing sent, if `receivers`
// forbids every address of the host, however its name resolves. Any thread.
[[nodiscard]] Status send_out(const Outgoing& outgoing, Receivers receivers,
                              const std::atomic<bool>& stopping);

}  // namespace lagtrap::server
