// Addresses that rules must not send to.
#pragma once

#include <sys/socket.h>

#include <string>

namespace lagtrap::server {

// Whether it is this machine, a link-local address or a cloud's metadata service (which hands out
// credentials): loopback, unspecified and link-local addresses and known metadata services, also as
// IPv4 within IPv6. True for families other than IPv4 and IPv6.
[[nodiscard]] bool is_local_receiver(const sockaddr& address);
// In the usual notation; empty for other families.
[[nodiscard]] std::string address_text(const sockaddr& address);

}  // namespace lagtrap::server
