#include "analysis/function_name.hpp"

#include "core/function_name.hpp"

namespace lagtrap::analysis {

std::string short_function_name(std::string_view name) {
    return without_anonymous_namespaces(without_parameters(name));
}

}  // namespace lagtrap::analysis
