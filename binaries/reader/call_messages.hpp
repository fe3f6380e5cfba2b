// Serialises what functions call (reader_messages.hpp). Internal to binaries/.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "binaries/code/function_calls.hpp"
#include "core/result.hpp"

namespace lagtrap::binaries {

[[nodiscard]] std::string encode_calls(const std::vector<FunctionCalls>& calls);
// ErrorKind::System if the answer is malformed.
[[nodiscard]] Result<std::vector<FunctionCalls>> decode_calls(std::string_view body,
                                                              std::size_t functions);

}  // namespace lagtrap::binaries
