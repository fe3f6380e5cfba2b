// Decides which events a file belongs to, by the path under which a process sees it and by its
// build id. Uses no kernel, file or thread.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "settings/settings.hpp"

namespace lagtrap::daemon {

// How a process sees a file.
struct FileView {
    std::string path;  // as the process sees it
    // The process has the machine's view of the file system: the path means the machine's file.
    bool machines = false;
};

class FileMatches {
  public:
    explicit FileMatches(std::vector<settings::Event> events);

    // What paths in the settings lead to, by path.
    struct Targets {
        std::map<std::string, std::string> links;  // of paths that are symlinks
        // Of paths that are only opened once a process maps them, because nothing is there or
        // because they are not on the machine's root file system; empty if nothing is there.
        std::map<std::string, std::string> followed;
    };
    void use(Targets targets) { targets_ = std::move(targets); }

    // True if a file cannot be matched without its build id.
    [[nodiscard]] bool wants_build_ids() const { return wants_build_ids_; }
    // Names in the event's settings that mean this file. `build_id` is empty if unknown.
    [[nodiscard]] std::set<std::string> names(std::uint32_t event, const FileView& view,
                                              const std::string& build_id) const;
    // Events with such names, in ascending order.
    [[nodiscard]] std::vector<std::uint32_t> events(const FileView& view,
                                                    const std::string& build_id) const;
    // Paths in the event's settings where nothing is, in alphabetical order.
    [[nodiscard]] std::vector<std::string> absent(std::uint32_t event) const;

    [[nodiscard]] const settings::Event& event(std::uint32_t number) const {
        return events_[number];
    }

  private:
    [[nodiscard]] bool means(const settings::Event& event, const std::string& name,
                             const FileView& view, const std::string& build_id) const;

    std::vector<settings::Event> events_;
    bool wants_build_ids_ = false;
    Targets targets_;
};

}  // namespace lagtrap::daemon
