#include "daemon/processes/container_names.hpp"

#include <utility>

#include "binaries/reader/file_reader.hpp"
#include "core/files.hpp"
#include "core/timed_call.hpp"
#include "sandbox/foreign_file.hpp"
#include "trace/logs/control_group_words.hpp"

namespace lagtrap::daemon {
namespace {

using namespace std::chrono_literals;
using binaries::ContainerFacts;
using binaries::ContainerFile;

constexpr auto look_again_after = 1s;
constexpr std::size_t kept_limit = 1'024;
constexpr std::uint64_t state_limit_bytes = 16 << 20;

void fill_in(ContainerFacts& facts, const ContainerFacts& more) {
    const auto fill = [](std::string& text, const std::string& other) {
        if (text.empty()) text = other;
    };
    fill(facts.name, more.name);
    fill(facts.image, more.image);
    fill(facts.pod, more.pod);
    fill(facts.pod_namespace, more.pod_namespace);
    fill(facts.sandbox, more.sandbox);
    facts.labels.insert(more.labels.begin(), more.labels.end());
    facts.has_labels = facts.has_labels || more.has_labels;
}

// Checked because file names are made from it.
bool is_id(const std::string& id) {
    return !id.empty() && id.size() <= 128 &&
           id.find_first_not_of("0123456789abcdef") == std::string::npos;
}

}  // namespace

std::vector<ContainerNames::Place> ContainerNames::places_of(const std::string& id) const {
    std::vector<Place> places{
        {root_ / "var/lib/docker/containers" / id / "config.v2.json", ContainerFile::Docker}};
    for (const char* const space : {"k8s.io", "default", "moby"})
        places.push_back(
            {root_ / "run/containerd/io.containerd.runtime.v2.task" / space / id / "config.json",
             ContainerFile::Bundle});
    for (const char* const driver : {"overlay-containers", "vfs-containers", "btrfs-containers"}) {
        const auto storage = root_ / "var/lib/containers/storage" / driver;
        places.push_back({storage / id / "userdata/config.json", ContainerFile::Bundle});
        places.push_back({storage / "containers.json", ContainerFile::Storage});
    }
    return places;
}

Result<ContainerFacts> ContainerNames::read(const Place& place, const std::string& id) const {
    TRY_ASSIGN(const UniqueFd file,
               call_within<UniqueFd>(open_timeout_, place.path.string(),
                                     [path = place.path] { return open_regular_file(path); }));
    if (auto* const reader = binaries::file_reader())
        return reader->container(file.get(), place.kind, id);
    TRY_ASSIGN(const std::string content, read_all(file.get(), state_limit_bytes));
    return binaries::parse_container_state(content, place.kind, id);
}

KnownContainer ContainerNames::look(const std::string& id) const {
    KnownContainer known;
    for (const Place& place : places_of(id)) {
        const auto facts = read(place, id);
        if (!facts) continue;
        known.found = true;
        fill_in(known.facts, *facts);
    }
    const std::string& sandbox = known.facts.sandbox;
    if (sandbox == id || !is_id(sandbox)) return known;
    for (const Place& place : places_of(sandbox)) {
        if (place.kind != ContainerFile::Bundle) continue;
        const auto of_pod = read(place, sandbox);
        if (!of_pod) continue;
        known.facts.labels.insert(of_pod->labels.begin(), of_pod->labels.end());
        known.facts.has_labels = known.facts.has_labels || of_pod->has_labels;
    }
    return known;
}

KnownContainer ContainerNames::find(const std::string& id) {
    if (!is_id(id)) return {};
    const auto now = Clock::now();
    {
        const std::lock_guard lock(mutex_);
        const auto known = kept_.find(id);
        if (known != kept_.end() &&
            (known->second.container.found || now - known->second.looked < look_again_after))
            return known->second.container;
    }
    KnownContainer found = look(id);
    const std::lock_guard lock(mutex_);
    if (kept_.size() >= kept_limit) kept_.clear();
    kept_[id] = {found, now};
    return found;
}

trace::GroupWords ContainerNames::both_words_for(const std::string& control_group) {
    trace::ContainerNames names;
    if (const std::string id = trace::container_of_group(control_group).id; !id.empty())
        names[id] = name_of(id);
    return trace::group_words(control_group, names);
}

std::string ContainerNames::words_for(const std::string& control_group) {
    return both_words_for(control_group).whole;
}

std::string ContainerNames::brief_words_for(const std::string& control_group) {
    return both_words_for(control_group).brief;
}

trace::ContainerName ContainerNames::name_of(const std::string& id) {
    const binaries::ContainerFacts facts = find(id).facts;
    return {facts.name, facts.image, facts.pod, facts.pod_namespace};
}

}  // namespace lagtrap::daemon
