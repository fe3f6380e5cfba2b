#include "daemon/events/copy_table.hpp"

#include <algorithm>
#include <iterator>

#include "daemon/events/unit_counts.hpp"
#include "daemon/processes/process_texts.hpp"

namespace lagtrap::daemon {

template <typename IsLeaving>
std::vector<CopyTable::Leaving> CopyTable::take(const IsLeaving& is_leaving) {
    std::vector<Leaving> leaving;
    for (auto at = copies_.begin(); at != copies_.end();) {
        Entry& entry = at->second;
        if (!is_leaving(entry)) {
            ++at;
            continue;
        }
        leaving_.emplace(entry.copy.name, entry.copy.real);
        leaving.push_back({at->first, std::move(entry.copy.name), std::move(entry.armed)});
        at = copies_.erase(at);
    }
    return leaving;
}

std::vector<CopyTable::Leaving> CopyTable::use(MainFiles files) {
    main_files_ = std::move(files.by_path);
    matches_.use(std::move(files.targets));
    return take([this](const Entry& entry) {
        return std::any_of(main_files_.begin(), main_files_.end(),
                           [&](const auto& main) { return main.second == entry.copy.real; });
    });
}

void CopyTable::use(Processes processes, Clock::time_point now) {
    units_ = std::move(processes.units);
    namesakes_ = std::move(processes.namesakes);
    main_pids_.clear();
    for (const auto& [path, real] : main_files_)
        if (const auto found = processes.by_file.find(real); found != processes.by_file.end())
            main_pids_[real] = found->second;
    for (auto& [number, entry] : copies_) {
        const auto found = processes.by_file.find(entry.copy.real);
        entry.pids = found == processes.by_file.end() ? std::set<std::uint32_t>() : found->second;
        if (!entry.pids.empty()) entry.mapped = now;
    }
}

Status CopyTable::check_room(Party party) const {
    const auto own = std::count_if(copies_.begin(), copies_.end(), [party](const auto& entry) {
        return entry.second.copy.party == party;
    });
    if (copies_.size() < limits_.open &&
        (party == root_party || static_cast<std::size_t>(own) < limits_.open / UserShares::parts))
        return success();
    return make_error(ErrorKind::TooLarge,
                      party_text(party) + " has reached its limit of open files");
}

void CopyTable::note_left_out(Party party) {
    if (left_out_.contains(party) || left_out_.size() < UserShares::counted_users)
        ++left_out_[party];
}

std::uint32_t CopyTable::add(Copy copy, Clock::time_point now) {
    Entry entry;
    entry.copy = std::move(copy);
    entry.mapped = now;
    copies_.emplace(++last_copy_, std::move(entry));
    return last_copy_;
}

const CopyTable::Copy* CopyTable::copy(std::uint32_t number) const {
    const auto found = copies_.find(number);
    return found == copies_.end() ? nullptr : &found->second.copy;
}

bool CopyTable::is_open(const RealFile& real) const {
    return std::any_of(main_files_.begin(), main_files_.end(),
                       [&](const auto& main) { return main.second == real; }) ||
           std::any_of(copies_.begin(), copies_.end(),
                       [&](const auto& entry) { return entry.second.copy.real == real; });
}

bool CopyTable::is_leaving(const RealFile& real) const {
    return std::any_of(leaving_.begin(), leaving_.end(),
                       [&](const auto& one) { return one.second == real; });
}

bool CopyTable::is_missing(const Entry& entry, std::uint32_t event, Clock::time_point now) const {
    const auto problem = entry.problems.find(event);
    return !entry.armed.contains(event) &&
           (problem == entry.problems.end() || problem->second.again <= now);
}

std::vector<CopyTable::Missing> CopyTable::missing(Clock::time_point now) const {
    std::vector<Missing> missing;
    for (const auto& [number, entry] : copies_) {
        if (entry.pids.empty() || is_leaving(entry.copy.real)) continue;
        for (const std::uint32_t event : matches_.events(entry.copy.view, entry.copy.build_id)) {
            if (!is_missing(entry, event, now)) continue;
            const auto problem = entry.problems.find(event);
            missing.push_back(
                {number, event, problem == entry.problems.end() ? 0 : problem->second.failures});
        }
    }
    return missing;
}

bool CopyTable::has_room(const Entry& entry, std::uint32_t event) const {
    std::size_t all = 0, of_event = 0, of_party = 0;
    for (const auto& [number, other] : copies_) {
        all += other.armed.empty() ? 0 : 1;
        if (!other.armed.contains(event)) continue;
        ++of_event;
        if (other.copy.party == entry.copy.party) ++of_party;
    }
    return all < limits_.files && of_event < limits_.files_of_event &&
           (entry.copy.party == root_party || of_party < limits_.files_of_user);
}

bool CopyTable::make_room(const Missing& missing) {
    const auto found = copies_.find(missing.copy);
    if (found == copies_.end()) return false;
    Entry& entry = found->second;
    const bool room = has_room(entry, missing.event);
    if (room)
        entry.left_out.erase(missing.event);
    else
        entry.left_out.insert(missing.event);
    return room;
}

void CopyTable::note_armed(const Missing& missing, const Status& armed, Clock::time_point now) {
    const auto found = copies_.find(missing.copy);
    if (found == copies_.end()) return;
    Entry& entry = found->second;
    if (armed) {
        entry.armed.insert(missing.event);
        entry.problems.erase(missing.event);
        return;
    }
    const Error& error = armed.error();
    Problem problem{error.message, Clock::time_point::max(), missing.failures + 1};
    if (error.kind == ErrorKind::Timeout || error.kind == ErrorKind::Busy) {
        problem.message += "; will be retried";
        problem.again = now + first_retry * (1U << std::min(missing.failures, max_doublings));
    }
    entry.problems.insert_or_assign(missing.event, std::move(problem));
}

void CopyTable::note_left(std::uint32_t event) {
    for (auto& [number, entry] : copies_) entry.armed.erase(event);
}

std::vector<std::pair<std::uint32_t, std::uint32_t>> CopyTable::leave_file(
    const std::string& name) {
    std::vector<std::pair<std::uint32_t, std::uint32_t>> left;
    for (auto& [number, entry] : copies_) {
        if (entry.copy.name != name) continue;
        for (const std::uint32_t event : entry.armed) {
            left.emplace_back(event, number);
            entry.problems.insert_or_assign(
                event, Problem{entry.copy.view.path + " was opened for writing"});
        }
        entry.armed.clear();
    }
    return left;
}

std::vector<CopyTable::Leaving> CopyTable::take_unmapped(Clock::time_point now) {
    return take([now](const Entry& entry) { return entry.pids.empty() && entry.leaves() <= now; });
}

void CopyTable::note_detached(const std::string& name) {
    if (const auto found = leaving_.find(name); found != leaving_.end()) leaving_.erase(found);
}

std::optional<CopyTable::Clock::time_point> CopyTable::next_change(Clock::time_point now) const {
    auto next = Clock::time_point::max();
    for (const auto& [number, entry] : copies_) {
        if (entry.pids.empty()) {
            next = std::min(next, entry.leaves());
            continue;
        }
        for (const auto& [event, problem] : entry.problems)
            if (problem.again > now) next = std::min(next, problem.again);
    }
    if (next == Clock::time_point::max()) return std::nullopt;
    return next;
}

EventCopies CopyTable::describe(std::uint32_t event, bool armed) const {
    EventCopies report;
    report.absent = matches_.absent(event);
    std::set<std::uint32_t> pids;
    const std::vector<std::string> names = names_of(matches_.event(event));
    for (const auto& [path, real] : main_files_) {
        if (std::find(names.begin(), names.end(), path) == names.end()) continue;
        if (armed) ++report.files;
        if (const auto found = main_pids_.find(real); found != main_pids_.end())
            pids.insert(found->second.begin(), found->second.end());
    }
    for (const auto& [number, entry] : copies_)
        if (!matches_.names(event, entry.copy.view, entry.copy.build_id).empty())
            describe_copy(entry, event, armed, report, pids);
    report.processes = pids.size();
    if (pids.empty()) {
        report.namesake = namesake_of(event);
        return report;
    }
    report.processes_by_unit = count_by_unit(pids, units_);
    report.pid = *pids.begin();
    report.pids = std::move(pids);
    return report;
}

void CopyTable::describe_copy(const Entry& entry, std::uint32_t event, bool armed,
                              EventCopies& report, std::set<std::uint32_t>& pids) const {
    const bool watched = entry.armed.contains(event);
    if (watched) {
        ++report.files;
        pids.insert(entry.pids.begin(), entry.pids.end());
    }
    const bool left_out = entry.left_out.contains(event);
    if (left_out) ++report.left_out;
    if (entry.pids.empty() || report.copies.size() >= EventCopies::shown_limit) return;
    CopyStatus status{
        entry.copy.view.path, entry.copy.where, *entry.pids.begin(), entry.pids.size(), {}};
    if (const auto problem = entry.problems.find(event); problem != entry.problems.end())
        status.problem = problem->second.message;
    else if (left_out)
        status.problem = "the limit of watched files is reached";
    else if (!watched)
        status.problem = armed ? "waiting for its turn" : "the event is not armed";
    report.copies.push_back(std::move(status));
}

std::optional<CopyStatus> CopyTable::namesake_of(std::uint32_t event) const {
    const std::vector<std::string> names = names_of(matches_.event(event));
    for (const auto& [path, namesake] : namesakes_)
        if (is_named_like(path, names))
            return CopyStatus{path, namesake.where, namesake.pid, namesake.processes, {}};
    return std::nullopt;
}

}  // namespace lagtrap::daemon
