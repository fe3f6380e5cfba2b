// What functions call, to bytes and back (reader_messages.hpp). Used by the other files of this folder.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "binaries/code/function_calls.hpp"
#include "core/result.hpp"

namespace lagtrap::binaries {

[[nodiscard]] std::string encode_calls(const std::vector<FunctionCalls>& calls);
// ErrorKind::System: the answer is malformed.
[[nodiscard]] Result<std::vector<FunctionCalls>> decode_calls(std::string_view body, std::size_t functions);

}  // namespace lagtrap::binaries
