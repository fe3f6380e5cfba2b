// What the managers of containers keep of them in files: names, image, pod, labels. Part of it is chosen by who starts a
// container, so it is read by the process without privileges (file_reader.hpp).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "core/result.hpp"

namespace lagtrap::binaries {

// Whose file it is.
enum class ContainerFile : std::uint32_t {
    Docker = 1,   // config.v2.json of docker: https://github.com/moby/moby, daemon/container
    Bundle = 2,   // config.json of an OCI bundle (containerd, CRI-O): OCI runtime specification, "Annotations"
    Storage = 3,  // containers.json of podman and CRI-O: https://github.com/containers/storage
};

inline constexpr std::size_t container_texts_limit = 1'024;  // bytes of each
inline constexpr std::size_t container_labels_limit = 256;

// What a file does not say is empty.
struct ContainerFacts {
    std::string name, image, pod, pod_namespace;
    std::string sandbox;  // CRI-O: the container that stands for the pod, whose labels are the pod's
    std::map<std::string, std::string> labels;
    bool has_labels = false;  // the file would say if there were some
};

// Of the container with this id. ErrorKind::NotFound: the file is about others; Invalid: it is none of these.
[[nodiscard]] Result<ContainerFacts> parse_container_state(std::string_view content, ContainerFile kind,
                                                           std::string_view id);

}  // namespace lagtrap::binaries
