#include "settings/scope_builder.hpp"

#include <pwd.h>

#include <array>
#include <charconv>
#include <optional>
#include <string>

namespace lagtrap::settings {
namespace {

// The uid, from digits or from the machine's user database.
std::optional<std::uint32_t> find_uid(const std::string& user) {
    std::uint32_t uid = 0;
    const char* end = user.data() + user.size();
    const auto [rest, failure] = std::from_chars(user.data(), end, uid);
    if (failure == std::errc{} && rest == end && uid != unknown_uid) return uid;
    passwd entry{};
    passwd* found = nullptr;
    std::array<char, 16384> buffer;
    if (getpwnam_r(user.c_str(), &entry, buffer.data(), buffer.size(), &found) != 0 || !found)
        return {};
    return found->pw_uid;
}

}  // namespace

Scope build_scope(const Element& element, MachineSources& sources, Diagnostics& diagnostics) {
    Scope scope;
    if (element.attribute("pid")) scope.pid = static_cast<std::uint32_t>(element.number_of("pid"));
    scope.descendants = element.text_of("descendants") == "yes";
    if (scope.descendants && !element.attribute("pid"))
        diagnostics.add(element.attribute("descendants")->place,
                        "descendants in a <scope> without pid",
                        "expected pid=\"NUMBER\" with descendants");
    scope.binary = element.text_of("binary");
    scope.groups = {
        std::string(element.text_of("unit")),      std::string(element.text_of("control-group")),
        std::string(element.text_of("container")), std::string(element.text_of("image")),
        std::string(element.text_of("pod")),       std::string(element.text_of("namespace")),
        std::string(element.text_of("label"))};
    if (const Attribute* binary = element.attribute("binary"); binary && binary->valid)
        sources.scopes.push_back({binary->text, binary->place});
    const Attribute* user = element.attribute("user");
    if (!user || !user->valid) return scope;
    const auto uid = find_uid(user->text);
    if (!uid) sources.unknown_users.push_back({user->text, user->place});
    scope.uid = uid.value_or(unknown_uid);
    return scope;
}

}  // namespace lagtrap::settings
