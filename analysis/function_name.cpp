#include "analysis/function_name.hpp"

#include "core/function_name.hpp"

namespace lagtrap::analysis {
namespace {

constexpr std::size_t max_bytes_with_arguments = 60;  // a line of a report has 80 columns

}  // namespace

std::string short_function_name(std::string_view name) {
    std::string text = without_anonymous_namespaces(without_return_type(without_parameters(name)));
    return text.size() > max_bytes_with_arguments ? without_template_arguments(text) : text;
}

}  // namespace lagtrap::analysis
