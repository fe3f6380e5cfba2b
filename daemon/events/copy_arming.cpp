#include "daemon/events/copy_arming.hpp"

#include <algorithm>
#include <filesystem>

#include "core/clock.hpp"
#include "daemon/events/copy_names.hpp"
#include "daemon/processes/process_texts.hpp"

namespace lagtrap::daemon {
namespace {

using namespace std::chrono_literals;

// Time for all files of an event in one copy: at first, and for later attempts.
constexpr auto arming_budget = 5s;
constexpr auto patient_budget = 20s;
// A process may exit or start another program while it is inspected.
constexpr auto first_retry = 100ms;
constexpr unsigned max_doublings = 7;
constexpr std::size_t looks_at_once = 32;
// Inspecting takes at most a twentieth of a CPU, however many programs start.
constexpr int looking_share = 20;
constexpr auto budget_pause = 1s;
constexpr std::size_t namesakes_limit = 256;

}  // namespace

CopyArming::CopyArming(const std::vector<settings::Event>& events, MappedFiles& mapped_files,
                       ProcessInspector& inspector, ContainerNames& names,
                       const std::atomic<bool>& stopped)
    : mapped_files_(mapped_files),
      names_(names),
      stopped_(stopped),
      copies_(events),
      finder_(CopyFinder::make(inspector, copies_.matches().wants_build_ids(), stopped)),
      units_([&names](std::uint32_t pid) {
          return names.brief_words_for(control_group_of(folder_of(pid)));
      }) {}

CopyArming::Look CopyArming::look(const MainFiles& files) {
    const std::uint64_t version = mapped_files_.version();
    progress_ = {Clock::now()};
    if (!finder_) {
        looked_at_version_.store(version);
        return {};
    }
    auto leaving = use_main_files(files);
    const auto mapped_files = mapped_files_.all();
    progress_.all_resolved = resolve_some(mapped_files);
    const auto unmapped = copies_.use(processes_of(mapped_files));
    leaving.insert(leaving.end(), unmapped.begin(), unmapped.end());
    if (progress_.all_resolved) looked_at_version_.store(version);
    auto copies = with_files(leaving);
    return {newly_opened(), std::move(copies)};
}

std::vector<std::shared_ptr<const WatchedFile>> CopyArming::newly_opened() {
    std::vector<std::shared_ptr<const WatchedFile>> opened;
    for (auto& [number, copy] : files_) {
        if (copy.reported || copies_.is_leaving(copy.file->path())) continue;
        copy.reported = true;
        opened.push_back(copy.file);
    }
    return opened;
}

std::vector<CopyArming::Leaving> CopyArming::with_files(
    const std::vector<CopyTable::Leaving>& leaving) {
    std::vector<Leaving> copies;
    for (const CopyTable::Leaving& copy : leaving) {
        auto entry = files_.extract(copy.copy);
        copies.push_back({copy.copy, copy.armed, std::move(entry.mapped().file)});
    }
    return copies;
}

std::optional<std::chrono::steady_clock::duration> CopyArming::next_look() const {
    if (!finder_) return std::nullopt;
    const auto now = Clock::now();
    if (!progress_.all_resolved) return (now - progress_.began) * looking_share;
    auto next = Clock::time_point::max();
    for (const auto& [id, known] : resolved_)
        if (!known.real && !known.namesake) next = std::min(next, known.again);
    if (progress_.waits_for_budget) next = std::min(next, progress_.began + budget_pause);
    if (const auto change = copies_.next_change(progress_.began)) next = std::min(next, *change);
    if (next == Clock::time_point::max()) return std::nullopt;
    return std::max<Clock::duration>(next - now, 1ms);
}

std::vector<CopyTable::Leaving> CopyArming::use_main_files(const MainFiles& files) {
    SharedCopies::MainFiles main_files;
    CopyTable::MainFiles known_files;
    for (const auto& file : files.opened) {
        const auto known = copies_.main_files().find(file);
        if (known != copies_.main_files().end())
            main_files[file] = known->second;
        else if (const auto real = (*finder_)->real_file_of(file->fd()))
            main_files[file] = *real;
        else
            continue;
        known_files.by_path[file->path()] = main_files[file];
        std::error_code failed;
        const auto path = std::filesystem::read_symlink(file->descriptor_path(), failed).string();
        if (!failed && path != file->path()) known_files.targets.links[file->path()] = path;
    }
    known_files.targets.followed = files.followed;
    return copies_.use(std::move(main_files), std::move(known_files));
}

bool CopyArming::is_settled(const Resolved& known) const {
    if (!known.real) return known.namesake || known.again > progress_.began;
    return copies_.is_open(*known.real);
}

// False if some mapped files are left for the next call.
bool CopyArming::resolve_some(const std::vector<MappedFile>& mapped_files) {
    std::map<std::uint64_t, Resolved> resolved;
    std::size_t looks = 0;
    bool all = true;
    for (const MappedFile& mapped_file : mapped_files) {
        const auto known = resolved_.find(mapped_file.id);
        if (known != resolved_.end() && is_settled(known->second)) {
            resolved[mapped_file.id] = known->second;
        } else if (looks++ < looks_at_once && !stopped_.load()) {
            resolved[mapped_file.id] =
                resolve(mapped_file, known == resolved_.end() ? 0 : known->second.failures);
        } else {
            all = false;
        }
    }
    resolved_ = std::move(resolved);
    return all;
}

CopyArming::Resolved CopyArming::resolve(const MappedFile& mapped_file, unsigned failures) {
    const FileView view = (*finder_)->view_of(mapped_file);
    const FileMatches& matches = copies_.matches();
    if (matches.events(view, mapped_file.build_id).empty() &&
        (!matches.wants_build_ids() || !mapped_file.build_id.empty()))
        return {std::nullopt, true, {}, 0};
    const auto real = find_file(mapped_file, view);
    if (real) return {*real, false, {}, 0};
    if (real.error().kind == ErrorKind::TooLarge && failures == 0)
        copies_.note_left_out(party_of_process(mapped_file.mapping.mapping.pid));
    if (real.error().kind == ErrorKind::NotFound) return {std::nullopt, true, {}, 0};
    return {std::nullopt, false,
            Clock::now() + first_retry * (1U << std::min(failures, max_doublings)), failures + 1};
}

// ErrorKind::NotFound: no event watches this file.
Result<RealFile> CopyArming::find_file(const MappedFile& mapped_file, const FileView& view) {
    TRY_ASSIGN(const CopyFinder::Identity identity, (*finder_)->identify(mapped_file));
    auto known = (*finder_)->known(identity);
    UniqueFd descriptor;
    if (!known || !copies_.is_open(known->real)) {
        TRY(copies_.check_room(party_of_process(mapped_file.mapping.mapping.pid)));
        TRY_ASSIGN(CopyFinder::Opened opened, (*finder_)->open(mapped_file, identity));
        known = std::move(opened.file);
        descriptor = std::move(opened.descriptor);
    }
    if (copies_.matches().events(view, known->build_id).empty())
        return make_error(ErrorKind::NotFound, "it is a different file");
    if (!copies_.is_open(known->real)) add(mapped_file, view, *known, std::move(descriptor));
    return known->real;
}

void CopyArming::add(const MappedFile& mapped_file, const FileView& view,
                     const CopyFinder::KnownFile& known, UniqueFd descriptor) {
    auto file = WatchedFile::adopt(std::move(descriptor), name_of_copy(view.path, known.real));
    if (!file) return;
    const std::uint32_t pid = mapped_file.mapping.mapping.pid;
    CopyTable::Copy copy{known.real,
                         (*file)->path(),
                         view,
                         names_.words_for(control_group_of(folder_of(pid))),
                         known.build_id,
                         party_of_process(pid),
                         (*finder_)->is_on_root(view, (*file)->identity().device)};
    files_[copies_.add(std::move(copy))] = {std::move(*file)};
}

// Container or unit of a process with a file of the same name. Cached as long as it has the file.
std::string CopyArming::where_known(const std::string& path, std::uint32_t pid) const {
    const auto& namesakes = copies_.namesakes();
    const auto known = namesakes.find(path);
    if (known != namesakes.end() && known->second.pid == pid) return known->second.where;
    return names_.words_for(control_group_of(folder_of(pid)));
}

CopyTable::Processes CopyArming::processes_of(const std::vector<MappedFile>& mapped_files) {
    CopyTable::Processes processes;
    for (const MappedFile& mapped_file : mapped_files) {
        const auto found = resolved_.find(mapped_file.id);
        if (found == resolved_.end()) continue;
        if (found->second.real)
            processes.by_file[*found->second.real].insert(mapped_file.pids.begin(),
                                                          mapped_file.pids.end());
        if (!found->second.namesake || processes.namesakes.size() >= namesakes_limit) continue;
        CopyTable::Namesake& namesake = processes.namesakes[mapped_file.mapping.path];
        if (namesake.where.empty())
            namesake.where = where_known(mapped_file.mapping.path, mapped_file.pids.front());
        namesake.pid = mapped_file.pids.front();
        namesake.processes += mapped_file.pids.size();
    }
    std::set<std::uint32_t> all;
    for (const auto& [file, of_file] : processes.by_file)
        all.insert(of_file.begin(), of_file.end());
    units_.follow(all);
    processes.units = units_.by_pid();
    return processes;
}

void CopyArming::arm_missing(const std::set<std::uint32_t>& events, const Attach& attach) {
    for (const Missing& missing : copies_.missing(progress_.began)) {
        if (stopped_.load()) return;
        if (events.contains(missing.event)) arm(missing, attach);
    }
    is_expected_.store(false);
}

Result<EventPlan> CopyArming::plan(const Missing& missing, const CopyTable::Copy& copy) const {
    EventPlanner planner([file = files_.at(missing.copy).file](const std::string&)
                             -> Result<std::shared_ptr<const WatchedFile>> { return file; });
    const auto names = copies_.matches().names(missing.event, copy.view, copy.build_id);
    const auto budget = missing.failures == 0 ? arming_budget : patient_budget;
    return planner.plan_copy(copies_.matches().event(missing.event), names, copy.view.path,
                             {Clock::now() + budget, &stopped_});
}

void CopyArming::arm(const Missing& missing, const Attach& attach) {
    const auto copy = copies_.make_room(missing);
    if (!copy) return;
    const auto began = Clock::now();
    if (copy->party != root_party && !budget_.may_look(copy->party, began)) {
        progress_.waits_for_budget = true;
        return;
    }
    const auto plan = this->plan(missing, *copy);
    const auto reading = Clock::now() - began;
    const auto cpu_before = thread_cpu_time();
    copies_.begin_attaching(copy->name);
    const Status attached =
        plan ? attach(missing.event, missing.copy, *plan) : Status(plan.error());
    // Charge only CPU time: attaching mostly waits for other CPUs, whoever owns the file.
    if (copy->party != root_party)
        budget_.charge(copy->party, reading + (thread_cpu_time() - cpu_before), Clock::now());
    const bool event_is_off = plan && !attached && attached.error().kind == ErrorKind::Busy;
    copies_.end_attaching(copy->name, missing, attached, event_is_off);
}

EventCopies CopyArming::of(std::uint32_t event, bool armed) const {
    EventCopies copies = copies_.describe(event, armed);
    if (!finder_) copies.problem = finder_.error().message;
    return copies;
}

}  // namespace lagtrap::daemon
