#include "analysis/control_group_words.hpp"

#include <algorithm>
#include <array>

namespace lagtrap::analysis {

namespace {

constexpr std::size_t container_id_digits = 64;
constexpr std::size_t shown_digits = 12;  // as docker and podman show it

bool is_container_id(std::string_view text) {
    return text.size() == container_id_digits && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

// Of "docker-ID.scope" or of a folder "ID" within "docker".
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

std::string container_words(std::string_view id, std::string_view manager) {
    std::string text = "container " + std::string(id.substr(0, shown_digits));
    return manager.empty() ? text : text + " (" + std::string(manager) + ")";
}

}  // namespace

std::string control_group_words(std::string_view path) {
    std::string_view manager;
    std::string_view unit;
    for (std::size_t at = 0; at < path.size();) {
        const std::size_t end = std::min(path.find('/', at), path.size());
        std::string_view part = path.substr(at, end - at);
        at = end + 1;
        for (const Manager& known : managers) {
            if (part.starts_with(known.prefix)) manager = known.name;
        }
        const bool is_unit = part.ends_with(".service") || part.ends_with(".scope");
        if (is_unit) unit = part;
        if (part.ends_with(".scope")) part.remove_suffix(std::string_view(".scope").size());
        const std::string_view id = part.substr(part.rfind('-') + 1);
        if (is_container_id(id)) return container_words(id, manager);
        if (manager == "LXC" && part.starts_with("lxc.payload.")) return container_words(part.substr(12), manager);
    }
    return std::string(unit.empty() ? path : unit);
}

}  // namespace lagtrap::analysis
