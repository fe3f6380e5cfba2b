// What is known about containers besides their ids: names, images, pods, labels, from the files of
// docker, containerd, CRI-O and podman on this machine. Does not use sockets or the network.
#pragma once

#include <chrono>
#include <filesystem>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "binaries/reader/container_state.hpp"
#include "core/result.hpp"
#include "core/unique_fd.hpp"
#include "sandbox/machine_root.hpp"
#include "trace/logs/control_group_words.hpp"

namespace lagtrap::daemon {

struct KnownContainer {
    binaries::ContainerFacts facts;
    bool found = false;  // some file describes it
};

// Thread-safe.
class ContainerNames {
  public:
    // `open_timeout` limits how long the file system may take to open one file.
    explicit ContainerNames(std::filesystem::path root = machine_root(),
                            std::chrono::milliseconds open_timeout = std::chrono::seconds(2))
        : root_(std::move(root)), open_timeout_(open_timeout) {}

    // Can block on file systems for a limited time. Retries containers that were not found.
    [[nodiscard]] KnownContainer find(const std::string& id);
    [[nodiscard]] trace::ContainerName name_of(const std::string& id);
    // The full text of trace::group_words(), with the container's name if it is known.
    [[nodiscard]] std::string words_for(const std::string& control_group);
    // The brief text, otherwise the same.
    [[nodiscard]] std::string brief_words_for(const std::string& control_group);

  private:
    [[nodiscard]] trace::GroupWords both_words_for(const std::string& control_group);
    using Clock = std::chrono::steady_clock;
    struct Place {
        std::filesystem::path path;
        binaries::ContainerFile kind;
    };
    struct Kept {
        KnownContainer container;
        Clock::time_point looked;
    };
    [[nodiscard]] std::vector<Place> places_of(const std::string& id) const;
    [[nodiscard]] Result<binaries::ContainerFacts> read(const Place& place,
                                                        const std::string& id) const;
    [[nodiscard]] KnownContainer look(const std::string& id) const;

    const std::filesystem::path root_;
    const std::chrono::milliseconds open_timeout_;
    std::mutex mutex_;
    std::map<std::string, Kept> kept_;
};

}  // namespace lagtrap::daemon
