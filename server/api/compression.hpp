// Replies in fewer bytes, as the browser or program that asks takes them.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "server/api/exchange.hpp"

namespace lagtrap::server {

enum class Encoding { Identity, Gzip, Zstd };

// Whether Accept-Encoding names `coding` without refusing it (q=0).
[[nodiscard]] bool accepts_encoding(std::string_view accept_encoding, std::string_view coding);
// Zstd where it is accepted, else gzip, else neither.
[[nodiscard]] Encoding choose_encoding(std::string_view accept_encoding);

// Compresses body or source and sets Content-Encoding and Vary. Bodies under a kilobyte and what has an encoding already
// stay as they are.
void compress_reply(Reply& reply, Encoding encoding);

}  // namespace lagtrap::server
