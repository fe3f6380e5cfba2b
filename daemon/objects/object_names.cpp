#include "daemon/objects/object_names.hpp"

namespace lagtrap::daemon {
namespace {

// The last "::" outside angle brackets and parentheses, or npos.
std::size_t last_scope(std::string_view name) {
    int depth = 0;
    for (std::size_t at = name.size(); at-- > 1;) {
        const char c = name[at];
        if (c == '>' || c == ')') ++depth;
        if (c == '<' || c == '(') --depth;
        if (depth == 0 && c == ':' && name[at - 1] == ':') return at - 1;
    }
    return std::string_view::npos;
}

// Position after the last space outside angle brackets and parentheses; 0 if there is none.
std::size_t after_last_blank(std::string_view name) {
    std::size_t after = 0;
    int depth = 0;
    for (std::size_t at = 0; at < name.size(); ++at) {
        const char c = name[at];
        if (c == '<' || c == '(') ++depth;
        if (c == '>' || c == ')') --depth;
        if (c == ' ' && depth == 0) after = at + 1;
    }
    return after;
}

std::string_view without_arguments(std::string_view name) {
    return name.ends_with('>') && name.find('<') != std::string_view::npos
               ? name.substr(0, name.find('<'))
               : name;
}

}  // namespace

std::optional<MemberName> member_name(std::string_view name) {
    for (const std::string_view no_method :
         {"thunk to ", "{lambda", "guard variable", "[clone", "(.cold", ".cold"})
        if (name.find(no_method) != std::string_view::npos) return std::nullopt;
    // "operator<", "operator->" and others contain brackets that open nothing.
    const std::size_t call_operator = name.find("::operator");
    const std::size_t scope =
        call_operator != std::string_view::npos ? call_operator : last_scope(name);
    if (scope == std::string_view::npos || scope == 0) return std::nullopt;
    const std::string_view class_name = name.substr(0, scope);
    const std::string_view member = name.substr(scope + 2);
    const std::size_t outer = last_scope(class_name);
    const std::string_view last = without_arguments(
        outer == std::string_view::npos ? class_name : class_name.substr(outer + 2));
    // A template's name begins with its return type: "void ns::Box<int>::put<long>".
    MemberName found{std::string(class_name.substr(after_last_blank(class_name))),
                     calls::ObjectRole::Use};
    if (member.starts_with('~')) {
        found.role = calls::ObjectRole::Release;
    } else if (without_arguments(member) == last) {
        found.role = calls::ObjectRole::Create;
    }
    return found;
}

}  // namespace lagtrap::daemon
