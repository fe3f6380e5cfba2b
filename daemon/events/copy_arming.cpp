#include "daemon/events/copy_arming.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <utility>

#include <fmt/core.h>

#include "binaries/elf/program_file.hpp"
#include "core/clock.hpp"
#include "daemon/events/copy_names.hpp"
#include "daemon/events/unit_counts.hpp"
#include "daemon/processes/process_party.hpp"
#include "daemon/processes/process_texts.hpp"
#include "sandbox/machine_root.hpp"
#include "settings/program_name.hpp"

namespace lagtrap::daemon {
namespace {

using namespace std::chrono_literals;
using settings::ProgramName;

// Time for all files of an event in one copy: at first, and for later attempts.
constexpr auto arming_budget = 5s;
constexpr auto patient_budget = 20s;
// First pause before arming a copy again after a timeout, which happens on a busy machine.
constexpr auto first_arming_retry = 2s;
// A process may exit or start another program while it is inspected.
constexpr auto first_retry = 100ms;
constexpr unsigned max_doublings = 7;
// How long markers stay in a copy that no process maps, for programs that start again soon. Shorter
// on other file systems: open files block unmounting disks and freeing space of removed containers.
constexpr auto stays_unmapped = 10s;
constexpr auto stays_unmapped_elsewhere = 1s;
constexpr std::size_t looks_at_once = 32;
// Inspecting takes at most a twentieth of a CPU, however many programs start.
constexpr int looking_share = 20;
constexpr auto budget_pause = 1s;
constexpr std::size_t known_files_limit = 4'096;
constexpr std::size_t namesakes_limit = 256;

}  // namespace

CopyArming::CopyArming(const std::vector<settings::Event>& events, MappedFiles& mapped_files,
                       ProcessInspector& inspector, ContainerNames& names, Hooks hooks,
                       const Limits& limits)
    : events_(events),
      mapped_files_(mapped_files),
      inspector_(inspector),
      names_(names),
      hooks_(std::move(hooks)),
      limits_(limits),
      machines_mounts_{mounts_of("/proc/self"), mounts_of("/proc/1")},
      units_([&names](std::uint32_t pid) {
          return names.brief_words_for(control_group_of(folder_of(pid)));
      }) {
    for (const settings::Event& event : events_)
        for (const std::string& name : names_of(event))
            wants_build_ids_ =
                wants_build_ids_ || settings::kind_of_program(name) == ProgramName::BuildId;
    if (const auto root = facts_on_machine("/")) root_device_ = root->st_dev;
    if (auto loaded = RealFiles::load())
        real_files_ = std::move(*loaded);
    else
        problem_ = loaded.error().message;
}

CopyArming::Clock::time_point CopyArming::Copy::leaves() const {
    return mapped + (may_stay ? stays_unmapped : stays_unmapped_elsewhere);
}

bool CopyArming::means(const settings::Event& event, const std::string& name, const View& view,
                       const std::string& build_id) const {
    const auto followed = followed_.find(name);
    const bool is_path = settings::kind_of_program(name) == ProgramName::Path;
    if (is_path && !event.copies && !(followed != followed_.end() && view.machines)) return false;
    if (settings::means_file(name, view.path, build_id)) return true;
    const auto linked = linked_names_.find(name);
    return (linked != linked_names_.end() && linked->second == view.path) ||
           (followed != followed_.end() && followed->second == view.path);
}

std::set<std::string> CopyArming::names_meaning(const settings::Event& event, const View& view,
                                                const std::string& build_id) const {
    std::set<std::string> names;
    for (const std::string& name : names_of(event))
        if (means(event, name, view, build_id)) names.insert(name);
    return names;
}

std::vector<std::uint32_t> CopyArming::events_meaning(const View& view,
                                                      const std::string& build_id) const {
    std::vector<std::uint32_t> events;
    for (std::uint32_t event = 0; event < events_.size(); ++event)
        if (!names_meaning(events_[event], view, build_id).empty()) events.push_back(event);
    return events;
}

// For a chroot in the same mount namespace, /proc shows paths from outside of it.
CopyArming::View CopyArming::view_of(const MappedFile& mapped_file) const {
    const std::string& path = mapped_file.mapping.path;
    const auto folder = folder_of(mapped_file.mapping.mapping.pid);
    std::error_code failed;
    const auto root = std::filesystem::read_symlink(folder / "root", failed).string();
    const bool machines = !failed && root == "/" && machines_mounts_.contains(mounts_of(folder));
    if (!mapped_file.started_as.empty()) return {mapped_file.started_as, machines};
    if (mapped_file.perhaps_started_as) {
        const auto process =
            inspector_.read(mapped_file.mapping.mapping.pid, ProcessInspector::Code::Left, {});
        std::optional<StartedBeside> started;
        if (process)
            process->records.for_each([&](const lagtrap_record* record) {
                if (record->type != LAGTRAP_RECORD_PROCESS) return;
                const auto& facts = *reinterpret_cast<const lagtrap_process*>(record);
                started =
                    started_beside({reinterpret_cast<const char*>(&facts + 1), facts.text_bytes});
            });
        if (started && started->program == path) return {started->started_as, machines};
    }
    if (failed || root.size() < 2 || !path.starts_with(root + "/")) return {path, machines};
    return {path.substr(root.size()), machines};
}

std::optional<std::chrono::steady_clock::duration> CopyArming::look() {
    const std::uint64_t version = mapped_files_.version();
    if (!real_files_) {
        looked_at_version_.store(version);
        return std::nullopt;
    }
    const auto began = Clock::now();
    note_main_files();
    const auto mapped_files = mapped_files_.all();
    waiting_for_budget_ = false;
    const bool all_known = resolve_some(mapped_files);
    note_processes(mapped_files);
    arm_missing();
    drop_unmapped();
    if (!all_known) return (Clock::now() - began) * looking_share;
    looked_at_version_.store(version);
    auto next = Clock::time_point::max();
    for (const auto& [id, known] : resolved_)
        if (!known.real && !known.namesake) next = std::min(next, known.again);
    if (waiting_for_budget_) next = std::min(next, began + budget_pause);
    if (const auto leaves = next_to_leave()) next = std::min(next, *leaves);
    next = std::min(next, next_try());
    if (next == Clock::time_point::max()) return std::nullopt;
    return std::max<Clock::duration>(next - Clock::now(), 1ms);
}

// Arming thread only. Needs no lock, because only that thread changes these members.
bool CopyArming::is_open(const RealFile& real) const {
    const auto has_it = [&](const auto& entry) { return entry.second == real; };
    return std::any_of(main_files_.begin(), main_files_.end(), has_it) ||
           std::any_of(copies_.begin(), copies_.end(),
                       [&](const auto& copy) { return copy.second.real == real; });
}

// A file now armed under its name in the settings is no longer a copy: it would be hit twice.
void CopyArming::note_main_files() {
    std::map<std::shared_ptr<const WatchedFile>, RealFile> files;
    for (const auto& file : hooks_.main_files()) {
        const auto known = main_files_.find(file);
        if (known != main_files_.end())
            files[file] = known->second;
        else if (const auto real = real_files_->of(file->fd()))
            files[file] = *real;
    }
    std::map<std::string, std::string> linked_names;
    for (const auto& [file, real] : files) {
        std::error_code failed;
        const auto path = std::filesystem::read_symlink(file->descriptor_path(), failed).string();
        if (!failed && path != file->path()) linked_names[file->path()] = path;
    }
    auto followed = hooks_.followed();
    std::vector<std::pair<std::uint32_t, Copy>> leaving;
    {
        const std::lock_guard lock(mutex_);
        main_files_ = std::move(files);
        linked_names_ = std::move(linked_names);
        followed_ = std::move(followed);
        for (auto copy = copies_.begin(); copy != copies_.end();) {
            const bool is_main =
                std::any_of(main_files_.begin(), main_files_.end(),
                            [&](const auto& main) { return main.second == copy->second.real; });
            if (is_main) leaving.emplace_back(copy->first, std::move(copy->second));
            copy = is_main ? copies_.erase(copy) : std::next(copy);
        }
    }
    let_go(std::move(leaving));
}

// On another thread, because detaching takes tens of milliseconds per copy, and runs may begin.
void CopyArming::let_go(std::vector<std::pair<std::uint32_t, Copy>> copies) {
    if (copies.empty()) return;
    {
        const std::lock_guard lock(mutex_);
        for (const auto& [number, copy] : copies) leaving_[copy.file->path()] = copy.real;
    }
    auto leaving = std::make_shared<decltype(copies)>(std::move(copies));
    hooks_.apart([this, leaving] {
        for (const auto& [number, copy] : *leaving) leave_copy(number, copy);
    });
}

void CopyArming::leave_copy(std::uint32_t number, const Copy& copy) {
    for (const std::uint32_t event : copy.armed) hooks_.detach(event, number);
    hooks_.release(*copy.file);
    const std::lock_guard lock(mutex_);
    leaving_.erase(copy.file->path());
    left_.notify_all();
}

// False if some mapped files are left for the next call.
bool CopyArming::resolve_some(const std::vector<MappedFile>& mapped_files) {
    const auto now = Clock::now();
    std::map<std::uint64_t, Resolved> resolved;
    std::size_t looks = 0;
    bool all = true;
    for (const MappedFile& mapped_file : mapped_files) {
        const auto known = resolved_.find(mapped_file.id);
        const bool stays =
            known != resolved_.end() &&
            (known->second.real ? is_open(*known->second.real)
                                : known->second.namesake || known->second.again > now);
        if (stays) {
            resolved[mapped_file.id] = known->second;
        } else if (looks++ < looks_at_once && !hooks_.given_up->load()) {
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
    const View view = view_of(mapped_file);
    const bool by_build_id = wants_build_ids_ && mapped_file.build_id.empty();
    if (!by_build_id && events_meaning(view, mapped_file.build_id).empty()) {
        if (!wants_build_ids_ || mapped_file.build_id.empty()) return {std::nullopt, true, {}, 0};
    }
    const auto real = find_file(mapped_file, view);
    if (real) return {*real, false, {}, 0};
    if (real.error().kind == ErrorKind::TooLarge && failures == 0) {
        const Party party = party_of_process(mapped_file.mapping.mapping.pid);
        const std::lock_guard lock(mutex_);
        if (left_out_.contains(party) || left_out_.size() < UserShares::counted_users)
            ++left_out_[party];
    }
    if (real.error().kind == ErrorKind::NotFound) return {std::nullopt, true, {}, 0};
    return {std::nullopt, false,
            Clock::now() + first_retry * (1U << std::min(failures, max_doublings)), failures + 1};
}

Result<CopyArming::KnownFile> CopyArming::look_into(const OpenedFile& opened,
                                                    const MappedFile& mapped_file) const {
    KnownFile known{{}, mapped_file.build_id};
    TRY_ASSIGN(known.real, real_files_->of(opened.file.get()));
    if (!wants_build_ids_ || !known.build_id.empty()) return known;
    UniqueFd again(::fcntl(opened.file.get(), F_DUPFD_CLOEXEC, 0));
    if (!again.valid()) return system_error("reopen a program");
    const auto program =
        binaries::ProgramFile::open(std::move(again), mapped_file.mapping.path,
                                    {Clock::now() + arming_budget, hooks_.given_up});
    if (program) known.build_id = program->build_id();
    return known;
}

Status CopyArming::check_room(Party party) const {
    const auto of_party = [party](const auto& copy) { return copy.second.user == party; };
    const auto own =
        static_cast<std::size_t>(std::count_if(copies_.begin(), copies_.end(), of_party));
    if (copies_.size() < limits_.open &&
        (party == root_party || own < limits_.open / UserShares::parts))
        return success();
    return make_error(ErrorKind::TooLarge,
                      party_text(party) + " has reached its limit of open files");
}

LeftOut CopyArming::left_out() const {
    const std::lock_guard lock(mutex_);
    return left_out_;
}

// ErrorKind::NotFound: no event watches this file.
Result<RealFile> CopyArming::find_file(const MappedFile& mapped_file, const View& view) {
    const auto identities = inspector_.identify({mapped_file.mapping});
    if (identities.empty()) return make_error(ErrorKind::Vanished, "it is gone");
    if (!identities.front()) return identities.front().error();
    const CodeFileIdentity& identity = *identities.front();
    const IdentityKey key(identity.device, identity.inode, identity.size_bytes,
                          identity.changed_ns);
    auto known = known_files_.find(key);
    UniqueFd file;
    if (known == known_files_.end() || !is_open(known->second.real)) {
        TRY(check_room(party_of_process(mapped_file.mapping.mapping.pid)));
        TRY_ASSIGN(OpenedFile opened, inspector_.open(mapped_file.mapping));
        TRY_ASSIGN(KnownFile looked, look_into(opened, mapped_file));
        if (known_files_.size() >= known_files_limit) known_files_.clear();
        known = known_files_.insert_or_assign(key, std::move(looked)).first;
        file = std::move(opened.file);
    }
    const KnownFile& found = known->second;
    if (events_meaning(view, found.build_id).empty())
        return make_error(ErrorKind::NotFound, "it is a different file");
    if (!is_open(found.real)) add(mapped_file, view, found, std::move(file));
    return found.real;
}

void CopyArming::add(const MappedFile& mapped_file, const View& view, const KnownFile& known,
                     UniqueFd file) {
    auto adopted = WatchedFile::adopt(std::move(file), name_of_copy(view.path, known.real));
    if (!adopted) return;
    Copy copy;
    copy.real = known.real;
    copy.file = std::move(*adopted);
    copy.view = view;
    copy.may_stay = view.machines && copy.file->identity().device == root_device_;
    copy.build_id = known.build_id;
    copy.where = names_.words_for(control_group_of(folder_of(mapped_file.mapping.mapping.pid)));
    copy.user = party_of_process(mapped_file.mapping.mapping.pid);
    copy.mapped = Clock::now();
    hooks_.guard(copy.file);
    const std::lock_guard lock(mutex_);
    copies_.emplace(++last_copy_, std::move(copy));
}

// Container or unit of a process with a file of the same name. Cached as long as it has the file.
std::string CopyArming::where_known(const std::string& path, std::uint32_t pid) {
    const auto known = namesakes_.find(path);
    if (known != namesakes_.end() && known->second.pid == pid) return known->second.where;
    return names_.words_for(control_group_of(folder_of(pid)));
}

void CopyArming::note_processes(const std::vector<MappedFile>& mapped_files) {
    const auto now = Clock::now();
    std::map<RealFile, std::set<std::uint32_t>> pids;
    std::map<std::string, Namesake> namesakes;
    for (const MappedFile& mapped_file : mapped_files) {
        const auto found = resolved_.find(mapped_file.id);
        if (found == resolved_.end()) continue;
        if (found->second.real)
            pids[*found->second.real].insert(mapped_file.pids.begin(), mapped_file.pids.end());
        if (!found->second.namesake || namesakes.size() >= namesakes_limit) continue;
        Namesake& namesake = namesakes[mapped_file.mapping.path];
        namesake.path = mapped_file.mapping.path;
        if (namesake.where.empty())
            namesake.where = where_known(mapped_file.mapping.path, mapped_file.pids.front());
        namesake.pid = mapped_file.pids.front();
        namesake.processes += mapped_file.pids.size();
    }
    std::set<std::uint32_t> all;
    for (const auto& [file, of_file] : pids) all.insert(of_file.begin(), of_file.end());
    units_.follow(all);
    const std::lock_guard lock(mutex_);
    unit_of_pid_ = units_.by_pid();
    for (auto& [number, copy] : copies_) {
        copy.pids.clear();
        if (const auto found = pids.find(copy.real); found != pids.end())
            copy.pids = std::move(found->second);
        if (!copy.pids.empty()) copy.mapped = now;
    }
    main_pids_.clear();
    for (const auto& [file, real] : main_files_)
        if (const auto found = pids.find(real); found != pids.end())
            main_pids_[real] = found->second;
    namesakes_ = std::move(namesakes);
}

// Call it with mutex_ held.
bool CopyArming::has_room(const Copy& copy, std::uint32_t event) const {
    std::size_t all = 0, of_event = 0, of_user = 0;
    for (const auto& [number, other] : copies_) {
        all += other.armed.empty() ? 0 : 1;
        if (!other.armed.contains(event)) continue;
        ++of_event;
        if (other.user == copy.user) ++of_user;
    }
    return all < limits_.files && of_event < limits_.files_of_event &&
           (copy.user == root_party || of_user < limits_.files_of_user);
}

// When the next retry of an event in a copy is due.
CopyArming::Clock::time_point CopyArming::next_try() const {
    auto next = Clock::time_point::max();
    const std::lock_guard lock(mutex_);
    for (const auto& [number, copy] : copies_)
        for (const auto& [event, problem] : copy.problems)
            if (!copy.pids.empty()) next = std::min(next, problem.again);
    return next;
}

void CopyArming::arm_missing() {
    const auto now = Clock::now();
    const auto is_leaving = [this](const RealFile& real) {
        return std::any_of(leaving_.begin(), leaving_.end(),
                           [&](const auto& one) { return one.second == real; });
    };
    const auto is_missing = [now](const Copy& copy, std::uint32_t event) {
        const auto problem = copy.problems.find(event);
        return !copy.armed.contains(event) &&
               (problem == copy.problems.end() || problem->second.again <= now);
    };
    std::vector<std::pair<std::uint32_t, std::uint32_t>> missing;
    {
        const std::lock_guard lock(mutex_);
        for (auto& [number, copy] : copies_) {
            if (copy.pids.empty() || is_leaving(copy.real)) continue;
            for (const std::uint32_t event : events_meaning(copy.view, copy.build_id))
                if (is_missing(copy, event)) missing.emplace_back(number, event);
        }
    }
    for (const auto& [number, event] : missing) {
        if (hooks_.given_up->load()) return;
        if (hooks_.is_armed(event)) arm(number, event);
    }
}

void CopyArming::arm(std::uint32_t number, std::uint32_t event) {
    std::shared_ptr<const WatchedFile> file;
    View view;
    std::string build_id;
    Party user = root_party;
    unsigned failures = 0;
    {
        const std::lock_guard lock(mutex_);
        Copy& copy = copies_.at(number);
        if (const auto problem = copy.problems.find(event); problem != copy.problems.end())
            failures = problem->second.failures;
        copy.left_out.erase(event);
        if (!has_room(copy, event)) {
            copy.left_out[event] = true;
            return;
        }
        file = copy.file;
        view = copy.view;
        build_id = copy.build_id;
        user = copy.user;
    }
    const auto began = Clock::now();
    if (user != root_party && !budget_.may_look(user, began)) {
        waiting_for_budget_ = true;
        return;
    }
    EventPlanner planner(
        [file](const std::string&) -> Result<std::shared_ptr<const WatchedFile>> { return file; });
    const settings::Event& settings = events_[event];
    const auto plan = planner.plan_copy(
        settings, names_meaning(settings, view, build_id), view.path,
        {began + (failures == 0 ? arming_budget : patient_budget), hooks_.given_up});
    const auto reading = Clock::now() - began;
    const auto cpu_before = thread_cpu_time();
    {
        const std::lock_guard lock(mutex_);
        attaching_.insert(file->path());
    }
    const Status attached = plan ? hooks_.attach(event, number, *plan) : Status(plan.error());
    // Charge only CPU time: attaching mostly waits for other CPUs, whoever owns the file.
    if (user != root_party)
        budget_.charge(user, reading + (thread_cpu_time() - cpu_before), Clock::now());
    const std::lock_guard lock(mutex_);
    attaching_.erase(attaching_.find(file->path()));
    left_.notify_all();
    const auto found = copies_.find(number);
    if (found == copies_.end()) return;
    Copy& copy = found->second;
    if (attached) {
        copy.armed.insert(event);
        copy.problems.erase(event);
        return;
    }
    const Error& error = attached.error();
    if (plan && error.kind == ErrorKind::Busy) return;  // the event is not armed now
    Problem problem{error.message, Clock::time_point::max(), failures + 1};
    if (error.kind == ErrorKind::Timeout || error.kind == ErrorKind::Busy) {
        problem.message += "; will be retried";
        problem.again =
            Clock::now() + first_arming_retry * (1U << std::min(failures, max_doublings));
    }
    copy.problems.insert_or_assign(event, std::move(problem));
}

void CopyArming::drop_unmapped() {
    const auto now = Clock::now();
    std::vector<std::pair<std::uint32_t, Copy>> leaving;
    {
        const std::lock_guard lock(mutex_);
        for (auto copy = copies_.begin(); copy != copies_.end();) {
            const bool leaves = copy->second.pids.empty() && copy->second.leaves() <= now;
            if (leaves) leaving.emplace_back(copy->first, std::move(copy->second));
            copy = leaves ? copies_.erase(copy) : std::next(copy);
        }
    }
    let_go(std::move(leaving));
}

// nullopt if every copy has processes.
std::optional<CopyArming::Clock::time_point> CopyArming::next_to_leave() const {
    std::optional<Clock::time_point> next;
    const std::lock_guard lock(mutex_);
    for (const auto& [number, copy] : copies_)
        if (copy.pids.empty())
            next = std::min(next.value_or(Clock::time_point::max()), copy.leaves());
    return next;
}

void CopyArming::note_left(std::uint32_t event) {
    const std::lock_guard lock(mutex_);
    for (auto& [number, copy] : copies_) copy.armed.erase(event);
}

std::vector<std::pair<std::uint32_t, std::uint32_t>> CopyArming::leave_file(
    const std::string& name) {
    std::vector<std::pair<std::uint32_t, std::uint32_t>> left;
    std::unique_lock lock(mutex_);
    left_.wait(lock, [&] { return !leaving_.contains(name) && !attaching_.contains(name); });
    for (auto& [number, copy] : copies_) {
        if (copy.file->path() != name) continue;
        for (const std::uint32_t event : copy.armed) {
            left.emplace_back(event, number);
            copy.problems.insert_or_assign(event,
                                           Problem{copy.view.path + " was opened for writing"});
        }
        copy.armed.clear();
    }
    return left;
}

bool CopyArming::has_processes(const WatchedFile& main_file) const {
    const std::lock_guard lock(mutex_);
    for (const auto& [file, real] : main_files_)
        if (file.get() == &main_file) return main_pids_.contains(real);
    return false;
}

EventCopies CopyArming::of(std::uint32_t event) const {
    EventCopies report;
    std::set<std::uint32_t> pids;
    const settings::Event& settings = events_[event];
    const std::vector<std::string> names = names_of(settings);
    const bool armed = hooks_.is_armed(event);
    const std::lock_guard lock(mutex_);
    report.problem = problem_;
    for (const std::string& name : std::set<std::string>(names.begin(), names.end()))
        if (const auto followed = followed_.find(name);
            followed != followed_.end() && followed->second.empty())
            report.absent.push_back(name);
    for (const auto& [file, real] : main_files_) {
        if (std::find(names.begin(), names.end(), file->path()) == names.end()) continue;
        if (armed) ++report.files;
        if (const auto found = main_pids_.find(real); found != main_pids_.end())
            pids.insert(found->second.begin(), found->second.end());
    }
    for (const auto& [number, copy] : copies_) {
        if (names_meaning(settings, copy.view, copy.build_id).empty()) continue;
        const bool watched = copy.armed.contains(event);
        if (watched) {
            ++report.files;
            pids.insert(copy.pids.begin(), copy.pids.end());
        }
        if (copy.left_out.contains(event)) ++report.left_out;
        if (copy.pids.empty() || report.copies.size() >= EventCopies::shown_limit) continue;
        CopyStatus status{copy.view.path, copy.where, *copy.pids.begin(), copy.pids.size(), {}};
        if (const auto problem = copy.problems.find(event); problem != copy.problems.end())
            status.problem = problem->second.message;
        else if (copy.left_out.contains(event))
            status.problem = "the limit of watched files is reached";
        else if (!watched)
            status.problem = armed ? "waiting for its turn" : "the event is not armed";
        report.copies.push_back(std::move(status));
    }
    report.processes = pids.size();
    if (!pids.empty()) {
        report.processes_by_unit = count_by_unit(pids, unit_of_pid_);
        report.pid = *pids.begin();
        report.pids = std::move(pids);
        return report;
    }
    const auto namesake = std::find_if(namesakes_.begin(), namesakes_.end(), [&](const auto& one) {
        return is_named_like(one.first, names);
    });
    if (namesake != namesakes_.end())
        report.namesake = CopyStatus{namesake->first,
                                     namesake->second.where,
                                     namesake->second.pid,
                                     namesake->second.processes,
                                     {}};
    return report;
}

}  // namespace lagtrap::daemon
