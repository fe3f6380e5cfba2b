// Names of C++ as objects need them: the class, the member, and whether it creates or releases.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "calls/object_stream.hpp"

namespace lagtrap::daemon {

struct MemberName {
    std::string class_name;  // "ns::Box<int>"
    calls::ObjectRole role = calls::ObjectRole::Use;
};

// Of a demangled name without parameters: "ns::Box<int>::Box". nullopt: it is no member of anything, or one that has no
// object of its own (thunks, lambdas, parts of functions).
[[nodiscard]] std::optional<MemberName> member_name(std::string_view name);

}  // namespace lagtrap::daemon
