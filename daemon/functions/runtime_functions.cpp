#include "daemon/functions/runtime_functions.hpp"

#include <cstring>
#include <utility>

#include "core/text.hpp"
#include "daemon/calls/name_expressions.hpp"

namespace lagtrap::daemon {
namespace {

std::string text_of(const char* text, std::size_t room) {
    return printable(std::string_view(text, ::strnlen(text, room)));
}

calls::RuntimeFunction function_of(const lagtrap_runtime_function& reported, calls::Runtime runtime,
                                   bool in_c) {
    calls::RuntimeFunction function;
    function.runtime = runtime;
    function.scope = text_of(reported.key.scope, sizeof reported.key.scope);
    function.name = text_of(reported.key.name, sizeof reported.key.name);
    function.file = text_of(reported.file, sizeof reported.file);
    function.line = in_c ? 0 : static_cast<std::uint32_t>(reported.line);
    function.in_c = in_c;
    return function;
}

}  // namespace

RuntimeFunctions::RuntimeFunctions(std::uint32_t first, const std::string& include,
                                   const std::string& exclude)
    : first_(first), next_(first) {
    if (!include.empty()) include_ = include;
    if (!exclude.empty()) exclude_ = exclude;
}

std::string RuntimeFunctions::reason(const calls::RuntimeFunction& function,
                                     const std::string& name) const {
    if (finds(exclude_, name) || finds(exclude_, function.file)) return "by --exclude";
    if (finds(include_, name) || finds(include_, function.file)) return "";
    return std::string(calls::system_reason(function));
}

std::optional<calls::Function> RuntimeFunctions::take(const lagtrap_runtime_function& reported,
                                                      calls::Runtime runtime, bool in_c) {
    const calls::RuntimeFunction function = function_of(reported, runtime, in_c);
    calls::Function one;
    one.name = calls::name_of(function);
    Known known{runtime, std::nullopt, reason(function, one.name)};
    if (known.reason.empty()) known.number = next_++;
    const bool wanted = known.number.has_value();
    if (!known_.try_emplace(reported.number, std::move(known)).second || !wanted)
        return std::nullopt;
    one.module = calls::module_of(function);
    one.level = 1;
    one.source = function.line == 0 ? "" : function.file;
    one.line = function.file.empty() ? 0 : function.line;
    return one;
}

std::optional<std::uint32_t> RuntimeFunctions::number_of(std::uint32_t kernel_number) const {
    if (kernel_number < first_) return kernel_number;
    const auto found = known_.find(kernel_number);
    return found == known_.end() ? std::nullopt : found->second.number;
}

std::vector<std::uint32_t> RuntimeFunctions::all_of(calls::Runtime runtime) const {
    std::vector<std::uint32_t> numbers;
    for (const auto& [number, one] : known_)
        if (one.runtime == runtime) numbers.push_back(number);
    return numbers;
}

std::vector<calls::ReasonCount> RuntimeFunctions::left_out(calls::Runtime runtime) const {
    std::map<std::string, std::uint64_t> counts;
    for (const auto& [number, one] : known_)
        if (one.runtime == runtime && !one.number) ++counts[one.reason];
    std::vector<calls::ReasonCount> all;
    for (const auto& [reason, count] : counts) all.push_back({reason, count});
    return all;
}

}  // namespace lagtrap::daemon
