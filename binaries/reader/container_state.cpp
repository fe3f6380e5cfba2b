#include "binaries/reader/container_state.hpp"

#include <array>

#include <boost/json.hpp>

namespace lagtrap::binaries {
namespace {

using boost::json::object;

constexpr std::size_t deepest = 32;

Result<boost::json::value> parse(std::string_view text) {
    boost::json::parse_options options;
    options.max_depth = deepest;
    boost::system::error_code failed;
    auto value = boost::json::parse({text.data(), text.size()}, failed, {}, options);
    if (failed) return make_error(ErrorKind::Invalid, "is not JSON: " + failed.message());
    return value;
}

const object& part(const object& from, std::string_view name) {
    static const object none;
    const auto* value = from.if_contains({name.data(), name.size()});
    return value != nullptr && value->is_object() ? value->get_object() : none;
}

std::string text(const object& from, std::string_view name) {
    const auto* value = from.if_contains({name.data(), name.size()});
    if (value == nullptr || !value->is_string()) return {};
    return std::string(std::string_view(value->get_string()).substr(0, container_texts_limit));
}

std::string first_text(const object& from, std::initializer_list<std::string_view> names) {
    for (const std::string_view name : names)
        if (std::string found = text(from, name); !found.empty()) return found;
    return {};
}

void take_labels(const object& from, ContainerFacts& facts) {
    facts.has_labels = true;
    for (const auto& [name, value] : from) {
        if (facts.labels.size() >= container_labels_limit) return;
        const std::string key(std::string_view(name).substr(0, container_texts_limit));
        facts.labels[key] = text(from, name);
    }
}

void take_pod(const object& from, ContainerFacts& facts) {
    facts.pod = first_text(from, {"io.kubernetes.pod.name", "io.kubernetes.cri.sandbox-name"});
    facts.pod_namespace =
        first_text(from, {"io.kubernetes.pod.namespace", "io.kubernetes.cri.sandbox-namespace"});
}

ContainerFacts docker_facts(const object& state) {
    ContainerFacts facts;
    const object& config = part(state, "Config");
    facts.name = text(state, "Name");
    if (facts.name.starts_with('/')) facts.name.erase(0, 1);
    facts.image = text(config, "Image");
    take_labels(part(config, "Labels"), facts);
    take_pod(part(config, "Labels"), facts);
    return facts;
}

ContainerFacts bundle_facts(const object& state) {
    ContainerFacts facts;
    const object& notes = part(state, "annotations");
    facts.name = first_text(notes, {"io.kubernetes.cri.container-name",
                                    "io.kubernetes.container.name", "nerdctl/name"});
    facts.image =
        first_text(notes, {"io.kubernetes.cri.image-name", "io.kubernetes.cri-o.ImageName"});
    facts.sandbox = text(notes, "io.kubernetes.cri-o.SandboxID");
    take_pod(notes, facts);
    if (const auto labels = parse(text(notes, "io.kubernetes.cri-o.Labels"));
        labels && labels->is_object())
        take_labels(labels->get_object(), facts);
    return facts;
}

Result<ContainerFacts> storage_facts(const boost::json::value& state, std::string_view id) {
    if (!state.is_array()) return make_error(ErrorKind::Invalid, "is not a list of containers");
    for (const auto& value : state.get_array()) {
        if (!value.is_object() || text(value.get_object(), "id") != id) continue;
        const object& container = value.get_object();
        ContainerFacts facts;
        if (const auto* names = container.if_contains("names"); names && names->is_array())
            for (const auto& name : names->get_array())
                if (name.is_string() && facts.name.empty())
                    facts.name = std::string(
                        std::string_view(name.get_string()).substr(0, container_texts_limit));
        const auto metadata = parse(text(container, "metadata"));
        if (metadata && metadata->is_object())
            facts.image = text(metadata->get_object(), "image-name");
        return facts;
    }
    return make_error(ErrorKind::NotFound, "has no such container");
}

}  // namespace

Result<ContainerFacts> parse_container_state(std::string_view content, ContainerFile kind,
                                             std::string_view id) {
    TRY_ASSIGN(const boost::json::value state, parse(content));
    if (kind == ContainerFile::Storage) return storage_facts(state, id);
    if (!state.is_object()) return make_error(ErrorKind::Invalid, "is not a container description");
    if (kind == ContainerFile::Docker) return docker_facts(state.get_object());
    if (kind == ContainerFile::Bundle) return bundle_facts(state.get_object());
    return make_error(ErrorKind::Invalid, "is of an unknown kind");
}

}  // namespace lagtrap::binaries
