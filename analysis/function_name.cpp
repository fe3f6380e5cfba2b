#include "analysis/function_name.hpp"

#include "analysis/frame_role.hpp"
#include "core/function_name.hpp"

namespace lagtrap::analysis {
namespace {

constexpr std::size_t max_bytes_with_arguments = 60;  // a line of a report has 80 columns

}  // namespace

std::string short_function_name(std::string_view name) {
    std::string text = without_anonymous_namespaces(without_return_type(without_parameters(name)));
    return text.size() > max_bytes_with_arguments ? without_template_arguments(text) : text;
}

std::string function_words(std::string_view function, std::string_view module) {
    if (function == "[jit]") return "JIT code without names (no perf map)";
    if (function.starts_with('['))
        return "unnamed code of " + std::string(function.substr(1, function.rfind(']') - 1));
    const std::string name = short_function_name(function);
    const std::string_view file = module_name(module);
    const bool of_library = file.starts_with("lib") && module.find(".so") != std::string_view::npos;
    return of_library ? name + " (" + std::string(file) + ")" : name;
}

}  // namespace lagtrap::analysis
