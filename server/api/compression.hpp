// Compresses replies with an encoding that the client accepts.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "server/api/exchange.hpp"

namespace lagtrap::server {

enum class Encoding { Identity, Gzip, Zstd };

// Whether Accept-Encoding names `coding` without refusing it (q=0).
[[nodiscard]] bool accepts_encoding(std::string_view accept_encoding, std::string_view coding);
// zstd if accepted, otherwise gzip, otherwise none.
[[nodiscard]] Encoding choose_encoding(std::string_view accept_encoding);

// Compresses the body or source, and sets Content-Encoding and Vary. Leaves bodies under a kilobyte
// and replies with an encoding unchanged.
void compress_reply(Reply& reply, Encoding encoding);

}  // namespace lagtrap::server
