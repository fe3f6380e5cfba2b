#include "trace/logs/control_group_words.hpp"

#include <algorithm>
#include <array>

namespace lagtrap::trace {

namespace {

constexpr std::size_t container_id_digits = 64;
constexpr std::size_t shown_digits = 12;  // as docker and podman show it

bool is_container_id(std::string_view text) {
    return text.size() == container_id_digits &&
           text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

// For "docker-ID.scope", or a folder "ID" in "docker".
struct Manager {
    std::string_view prefix;
    std::string_view name;
};
constexpr auto managers = std::to_array<Manager>({{"docker", "docker"},
                                                  {"libpod", "podman"},
                                                  {"cri-containerd", "containerd"},
                                                  {"crio", "CRI-O"},
                                                  {"kubepods", "Kubernetes"},
                                                  {"lxc", "LXC"}});

// Visits the components of a path from the root on, until `visit` returns false.
template <typename Visit>
void for_each_part(std::string_view path, Visit visit) {
    for (std::size_t at = 0; at < path.size();) {
        const std::size_t end = std::min(path.find('/', at), path.size());
        const std::string_view part = path.substr(at, end - at);
        at = end + 1;
        if (!part.empty() && !visit(part)) return;
    }
}

}  // namespace

ContainerOfGroup container_of_group(std::string_view path) {
    std::string_view manager;
    ContainerOfGroup found;
    for_each_part(path, [&](std::string_view part) {
        for (const Manager& known : managers) {
            if (part.starts_with(known.prefix)) manager = known.name;
        }
        if (part.ends_with(".scope")) part.remove_suffix(std::string_view(".scope").size());
        const std::string_view id = part.substr(part.rfind('-') + 1);
        if (is_container_id(id)) found.id = id;
        if (manager == "LXC" && part.starts_with("lxc.payload.")) found.id = part.substr(12);
        found.manager = manager;
        return found.id.empty();
    });
    return found.id.empty() ? ContainerOfGroup{} : found;
}

std::string control_group_words(std::string_view path) {
    if (const ContainerOfGroup container = container_of_group(path); !container.id.empty())
        return "container " + container.id.substr(0, shown_digits) +
               (container.manager.empty() ? "" : " (" + container.manager + ")");
    std::string_view unit;
    for_each_part(path, [&](std::string_view part) {
        if (part.ends_with(".service") || part.ends_with(".scope")) unit = part;
        return true;
    });
    return std::string(unit.empty() ? path : unit);
}

GroupWords group_words(std::string_view path, const ContainerNames& names) {
    if (path.empty() || path == "/") return {};
    GroupWords words{control_group_words(path), control_group_words(path)};
    const std::string id = container_of_group(path).id;
    if (id.empty()) return words;
    words.brief = "container " + id.substr(0, shown_digits);
    const auto found = names.find(id);
    if (found == names.end()) return words;
    const auto& [name, image, pod, pod_namespace] = found->second;
    const std::string whole_pod =
        pod.empty() ? "" : "pod " + pod_namespace + (pod_namespace.empty() ? "" : "/") + pod;
    if (!whole_pod.empty()) words.whole += ", " + whole_pod;
    if (!name.empty()) words.whole += ", " + name;
    if (!image.empty()) words.whole += ", image " + image;
    if (!whole_pod.empty())
        words.brief = whole_pod;
    else if (!name.empty())
        words.brief = "container " + name;
    return words;
}

}  // namespace lagtrap::trace
