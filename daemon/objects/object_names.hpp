// Splits C++ names into class and member, and tells whether the member creates or releases objects.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "calls/object_stream.hpp"

namespace lagtrap::daemon {

struct MemberName {
    std::string class_name;  // for example "ns::Box<int>"
    calls::ObjectRole role = calls::ObjectRole::Use;
};

// `name` is demangled, without parameters: "ns::Box<int>::Box". nullopt if it is not a member, or
// has no object of its own (thunks, lambdas, parts of functions).
[[nodiscard]] std::optional<MemberName> member_name(std::string_view name);

}  // namespace lagtrap::daemon
