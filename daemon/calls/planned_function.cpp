#include "daemon/calls/planned_function.hpp"

#include <utility>

#include "core/text.hpp"
#include "daemon/calls/name_expressions.hpp"

namespace lagtrap::daemon {

PlannedFunction planned_function(const CodePlace& place, const std::string& name,
                                 std::uint32_t level, binaries::FunctionCalls& found) {
    PlannedFunction planned;
    planned.file = place.file;
    planned.entry = place.offset;
    planned.name = name.substr(0, max_name_bytes);
    planned.level = level;
    planned.first_code = std::move(found.first_code);
    planned.exits = std::move(found.exits);
    planned.return_probe = found.return_probe;
    return planned;
}

calls::Function reported_function(const PlannedFunction& function,
                                  const std::vector<CallFile>& files,
                                  const calls::ProbeCost& cost) {
    calls::Function reported;
    reported.name = printable(function.name);
    reported.module = printable(files[function.file].path);
    reported.level = function.level;
    reported.cost = cost;
    reported.entry = function.entry;
    return reported;
}

}  // namespace lagtrap::daemon
