// Parses the state files of container managers: names, image, pod, labels. Users who start
// containers control parts of them, so the unprivileged reader parses them (file_reader.hpp).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "core/result.hpp"

namespace lagtrap::binaries {

// The kind of state file.
enum class ContainerFile : std::uint32_t {
    Docker = 1,  // docker's config.v2.json: https://github.com/moby/moby, daemon/container
    // config.json of an OCI bundle (containerd, CRI-O): OCI runtime specification, "Annotations"
    Bundle = 2,
    Storage = 3,  // containers.json of podman and CRI-O: https://github.com/containers/storage
};

inline constexpr std::size_t container_texts_limit = 1'024;  // bytes per text
inline constexpr std::size_t container_labels_limit = 256;

// Facts missing in the file are empty.
struct ContainerFacts {
    std::string name, image, pod, pod_namespace;
    std::string sandbox;  // CRI-O: the container that represents the pod and has the pod's labels
    std::map<std::string, std::string> labels;
    bool has_labels = false;  // this kind of file lists labels
};

// Returns the facts of the container with this id. ErrorKind::NotFound if the file is about others,
// Invalid if it is not of this kind.
[[nodiscard]] Result<ContainerFacts> parse_container_state(std::string_view content,
                                                           ContainerFile kind, std::string_view id);

}  // namespace lagtrap::binaries
