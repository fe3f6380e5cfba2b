#include "daemon/events/file_matches.hpp"

#include <utility>

#include "daemon/events/event_copies.hpp"
#include "settings/program_name.hpp"

namespace lagtrap::daemon {

using settings::ProgramName;

FileMatches::FileMatches(std::vector<settings::Event> events) : events_(std::move(events)) {
    for (const settings::Event& event : events_)
        for (const std::string& name : names_of(event))
            wants_build_ids_ =
                wants_build_ids_ || settings::kind_of_program(name) == ProgramName::BuildId;
}

bool FileMatches::means(const settings::Event& event, const std::string& name, const FileView& view,
                        const std::string& build_id) const {
    const auto followed = targets_.followed.find(name);
    const bool is_followed = followed != targets_.followed.end();
    const bool is_path = settings::kind_of_program(name) == ProgramName::Path;
    if (is_path && !event.copies && !(is_followed && view.machines)) return false;
    if (settings::means_file(name, view.path, build_id)) return true;
    const auto link = targets_.links.find(name);
    return (link != targets_.links.end() && link->second == view.path) ||
           (is_followed && followed->second == view.path);
}

std::set<std::string> FileMatches::names(std::uint32_t event, const FileView& view,
                                         const std::string& build_id) const {
    std::set<std::string> names;
    for (const std::string& name : names_of(events_[event]))
        if (means(events_[event], name, view, build_id)) names.insert(name);
    return names;
}

std::vector<std::uint32_t> FileMatches::events(const FileView& view,
                                               const std::string& build_id) const {
    std::vector<std::uint32_t> matching;
    for (std::uint32_t event = 0; event < events_.size(); ++event)
        if (!names(event, view, build_id).empty()) matching.push_back(event);
    return matching;
}

std::vector<std::string> FileMatches::absent(std::uint32_t event) const {
    std::set<std::string> absent;
    for (const std::string& name : names_of(events_[event])) {
        const auto followed = targets_.followed.find(name);
        if (followed != targets_.followed.end() && followed->second.empty()) absent.insert(name);
    }
    return {absent.begin(), absent.end()};
}

}  // namespace lagtrap::daemon
