// What the kernel side must know about a function of objects, from the rule that names it.
#pragma once

#include <optional>
#include <string>

#include "bpf/objects.h"
#include "calls/object_rule.hpp"
#include "calls/object_stream.hpp"

namespace lagtrap::daemon {

// The function with this symbol, if the rule names it; without the numbers of rule and class.
[[nodiscard]] std::optional<lagtrap_object_function> described_by(const calls::ObjectRule& rule,
                                                                  const std::string& symbol);
// The same for a method: its first argument is the object.
[[nodiscard]] lagtrap_object_function described_method(calls::ObjectRole role);
// True if it can be watched only where its result is seen.
[[nodiscard]] bool needs_result(const lagtrap_object_function& described);

}  // namespace lagtrap::daemon
