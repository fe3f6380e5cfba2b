// Which addresses rules may send to.
#pragma once

#include <sys/socket.h>

#include <string>

namespace lagtrap::server {

// Whether it leads to this machine itself, to its links, or to what a cloud tells its machines (metadata, with credentials
// in it): loopback, unspecified and link-local addresses and known metadata services, within IPv6 too. Families other than
// IPv4 and IPv6 do.
[[nodiscard]] bool is_local_receiver(const sockaddr& address);
// As people write it; empty for families other than these.
[[nodiscard]] std::string address_text(const sockaddr& address);

}  // namespace lagtrap::server
