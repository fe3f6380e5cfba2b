// Serialises requests for the names of code addresses and the answers (reader_messages.hpp).
// Internal to binaries/.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "binaries/dwarf/place_names.hpp"
#include "core/result.hpp"

namespace lagtrap::binaries {

// Decoding fails with ErrorKind::System if the message is malformed.
[[nodiscard]] std::string encode_names_request(const PlaceNamesRequest& request);
[[nodiscard]] Result<PlaceNamesRequest> decode_names_request(std::string_view body);
// Cuts texts and drops inlined frames beyond the limits of a message.
[[nodiscard]] std::string encode_names(const PlaceNames& names);
// `places`: the number of requested addresses, for each of which there must be an answer.
[[nodiscard]] Result<PlaceNames> decode_names(std::string_view body, std::size_t places);

}  // namespace lagtrap::binaries
