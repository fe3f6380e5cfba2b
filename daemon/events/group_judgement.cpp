#include "daemon/events/group_judgement.hpp"

#include <optional>

#include "settings/program_name.hpp"
#include "trace/logs/control_group_words.hpp"

namespace lagtrap::daemon {
namespace {

using settings::matches_pattern;

constexpr std::size_t min_id_digits = 12;  // as docker and podman show them

bool is_of_unit(const std::string& unit, std::string_view path) {
    const std::string name = unit.find('.') == std::string::npos ? unit + ".service" : unit;
    for (std::size_t at = 0; at < path.size();) {
        const std::size_t end = std::min(path.find('/', at), path.size());
        if (matches_pattern(name, path.substr(at, end - at))) return true;
        at = end + 1;
    }
    return false;
}

// True for the group itself or a group within it.
bool is_within(const std::string& pattern, std::string_view path) {
    for (; !path.empty(); path = path.substr(0, path.rfind('/')))
        if (matches_pattern(pattern, path)) return true;
    return pattern == "/";
}

// "redis" for "registry.example:5000/library/redis:7@sha256:...".
std::string_view short_image(std::string_view image) {
    image = image.substr(0, image.find('@'));
    image = image.substr(image.rfind('/') + 1);
    return image.substr(0, image.find(':'));
}

// nullopt if unknown.
using Answer = std::optional<bool>;

Answer matches(const std::string& pattern, const std::string& text) {
    return text.empty() ? Answer() : Answer(matches_pattern(pattern, text));
}

Answer has_label(const std::string& wanted, const binaries::ContainerFacts& facts) {
    const std::size_t equals = wanted.find('=');
    const auto label = facts.labels.find(wanted.substr(0, equals));
    if (label != facts.labels.end())
        return matches_pattern(std::string_view(wanted).substr(equals + 1), label->second);
    return facts.has_labels ? Answer(false) : Answer();
}

// The path up to the container, because names below are chosen by its root.
std::string_view without_inside(std::string_view path) {
    const std::string id = trace::container_of_group(path).id;
    return id.empty() ? path : path.substr(0, path.find('/', path.find(id)));
}

bool is_id_of(const std::string& text, const std::string& id) {
    return text.size() >= min_id_digits && id.starts_with(text);
}

}  // namespace

GroupJudgement judge_group(const settings::Scope& event_scope, const GroupPath& group,
                           const FindContainer& find) {
    const settings::GroupScope& scope = event_scope.groups;
    const std::string_view path = group.path;
    const std::string_view trusted =
        event_scope.uid == group.maker ? path : path.substr(0, group.root_bytes);
    settings::GroupScope rest = scope;
    rest.unit.clear();
    rest.control_group.clear();
    const auto container = trace::container_of_group(path);
    const bool made_by_user =
        !container.id.empty() && trace::container_of_group(trusted).id.empty();
    if (!scope.unit.empty() &&
        !is_of_unit(scope.unit, rest.empty() ? without_inside(trusted) : trusted))
        return {};
    if (!scope.control_group.empty() && !is_within(scope.control_group, path)) return {};
    if (rest.empty()) return {true, {}};
    if (container.id.empty()) return {};
    const bool by_id = is_id_of(scope.container, container.id);
    if (by_id) rest.container.clear();
    if (rest.empty() && !made_by_user) return {true, {}};
    const KnownContainer known = find(container.id);
    // The machine's container managers do not create groups there, and users' managers are not
    // asked.
    if (made_by_user) return {rest.empty() && !known.found, {}};
    const binaries::ContainerFacts& facts = known.facts;
    // If a manager knows the container but names no pod, there is none.
    const bool no_pod =
        known.found && facts.pod.empty() && path.find("kubepods") == std::string_view::npos;
    GroupJudgement judgement{true, {}};
    const auto ask = [&](const std::string& wanted, const Answer& answer, const char* what) {
        if (wanted.empty() || answer == Answer(true)) return;
        judgement.in_scope = false;
        if (!answer && judgement.not_known.empty()) judgement.not_known = what;
    };
    const auto image = matches(rest.image, facts.image);
    ask(rest.container, matches(rest.container, facts.name), "name");
    ask(rest.image,
        image == Answer(false) ? Answer(matches_pattern(rest.image, short_image(facts.image)))
                               : image,
        "image");
    ask(rest.pod, no_pod ? Answer(false) : matches(rest.pod, facts.pod), "pod");
    ask(rest.pod_namespace,
        no_pod ? Answer(false) : matches(rest.pod_namespace, facts.pod_namespace), "namespace");
    if (!rest.label.empty()) ask(rest.label, has_label(rest.label, facts), "labels");
    return judgement;
}

}  // namespace lagtrap::daemon
