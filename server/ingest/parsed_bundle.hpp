// The contents of a bundle, on their way from the parsing process to the server.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "server/store/bundle_store.hpp"
#include "server/store/delay_store.hpp"

namespace lagtrap::server {

struct ParsedBundle {
    BundleFacts facts;
    std::vector<BundleDelay> delays;
};

inline constexpr std::size_t bundle_delays_limit = 10'000;  // as many as a system file lists
inline constexpr std::size_t parsed_delays_limit = 12'000;  // delays and normal runs
inline constexpr std::size_t parsed_bytes_limit = 64U << 20;

// A protobuf message. Profiles and details that would exceed the limits are left empty.
[[nodiscard]] std::string write_parsed_bundle(const ParsedBundle& parsed);
// Does not trust the parser: checks limits and indices and makes texts printable.
[[nodiscard]] Result<ParsedBundle> read_parsed_bundle(std::string_view bytes);

}  // namespace lagtrap::server
