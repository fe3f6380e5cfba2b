// What a control group's path says of who a process belongs to.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace lagtrap::trace {

// The container that a control group is of, by its path; empty: of none that is known.
struct ContainerOfGroup {
    std::string id;       // 64 digits, or LXC's name
    std::string manager;  // "docker", "podman", "containerd", "CRI-O", "Kubernetes", "LXC"; empty: not known
};
[[nodiscard]] ContainerOfGroup container_of_group(std::string_view path);

// What the manager of a container knows of it; what is not known is empty.
struct ContainerName {
    std::string name, image, pod, pod_namespace;
};
using ContainerNames = std::map<std::string, ContainerName>;  // by the container's id

// Who a process belongs to: the unit of systemd, the container, or the path of the control group where it is neither. Both are
// empty for the root of all groups.
struct GroupWords {
    std::string brief;  // "nginx.service", "container web", "pod shop/cart-7d9", "container 3f2a4b5c6d7e"
    std::string whole;  // "container 3f2a4b5c6d7e (docker), web, image nginx:1.25"
};
[[nodiscard]] GroupWords group_words(std::string_view path, const ContainerNames& names);

// "postgresql.service", "container 3f2a4b5c6d7e (docker)", or the path itself where it is neither a unit of systemd nor a
// known kind of container. Empty for an empty path.
[[nodiscard]] std::string control_group_words(std::string_view path);

}  // namespace lagtrap::trace
