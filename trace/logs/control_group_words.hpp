// Derives from a control group's path which unit or container a process belongs to.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace lagtrap::trace {

// The container that owns a control group, judged by the path. Empty if it is not a known kind of
// container.
struct ContainerOfGroup {
    std::string id;  // 64 digits, or LXC's name
    // "docker", "podman", "containerd", "CRI-O", "Kubernetes", "LXC"; empty if unknown
    std::string manager;
};
[[nodiscard]] ContainerOfGroup container_of_group(std::string_view path);

// What the container manager reports about a container. Unknown fields are empty.
struct ContainerName {
    std::string name, image, pod, pod_namespace;
};
using ContainerNames = std::map<std::string, ContainerName>;  // by container id

// The owner of a process: its systemd unit, its container, or else the path of its control group.
// Both texts are empty for the root group.
struct GroupWords {
    // "nginx.service", "container web", "pod shop/cart-7d9", "container 3f2a4b5c6d7e"
    std::string brief;
    std::string whole;  // "container 3f2a4b5c6d7e (docker), web, image nginx:1.25"
};
[[nodiscard]] GroupWords group_words(std::string_view path, const ContainerNames& names);

// "postgresql.service", "container 3f2a4b5c6d7e (docker)", or the path itself if it is neither a
// systemd unit nor a known kind of container. Empty for an empty path.
[[nodiscard]] std::string control_group_words(std::string_view path);

}  // namespace lagtrap::trace
