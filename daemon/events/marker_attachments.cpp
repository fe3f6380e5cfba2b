#include "daemon/events/marker_attachments.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "core/timed_call.hpp"
#include "daemon/events/monitor_programs.hpp"
#include "daemon/threads/at_once.hpp"

namespace lagtrap::daemon {
namespace {

// One call to the kernel takes milliseconds. Before uprobe_multi links, each address took 40 ms.
constexpr std::chrono::milliseconds attach_timeout{20'000};
constexpr std::chrono::milliseconds place_timeout{100};

std::pair<std::uint32_t, std::uint32_t> go_place_of(const ProbePlaces& places) {
    return {places.goid_offset, places.frame_offset};
}

// Destroys the links of each event from the last to the first, all events in parallel: it mostly
// waits for other CPUs.
void destroy_at_once(std::vector<std::vector<Link>> events) {
    do_at_once(events.size(), [&](std::size_t number) {
        while (!events[number].empty()) events[number].pop_back();
    });
}

}  // namespace

MarkerAttachments::~MarkerAttachments() { detach_all(); }

std::vector<ProbeKind> MarkerAttachments::kinds_of(const EventPlan& plan) {
    std::vector<ProbeKind> kinds;
    for (const MarkerPlan& marker : plan.markers) {
        if (marker.marker.kind == settings::MarkerKind::RunQueue)
            kinds.push_back(ProbeKind::Scheduler);
        else
            kinds.push_back(marker.places.file ? marker.places.kind : ProbeKind::Tracepoint);
    }
    return kinds;
}

// In attach order: ends before the begin.
Status MarkerAttachments::attach_missing(SiteOwner owner, const EventPlan& plan,
                                         const std::array<bool, 3>& wanted, Links& links) {
    Links attached;
    for (const lagtrap_marker_role role :
         {LAGTRAP_ROLE_END, LAGTRAP_ROLE_STAGE, LAGTRAP_ROLE_BEGIN}) {
        if (!wanted[role] || !links[role].empty()) continue;
        std::vector<ProbeRequest> requests;
        std::chrono::milliseconds timeout = attach_timeout;
        for (const MarkerPlan& marker : plan.markers) {
            if (marker.role != role || marker.marker.kind == settings::MarkerKind::RunQueue)
                continue;
            TRY_ASSIGN(ProbeRequest request, programs_.request_for(owner, marker));
            timeout += request.offsets.size() * place_timeout;
            requests.push_back(std::move(request));
        }
        if (requests.empty()) continue;
        // The programs must stay alive while an abandoned call is running.
        TRY_ASSIGN(attached[role],
                   call_within<std::vector<Link>>(
                       timeout, "attach its markers",
                       [programs = programs_.keep_loaded(), requests = std::move(requests)] {
                           return attach_probes(requests);
                       }));
    }
    for (std::size_t role = 0; role < links.size(); ++role)
        if (!attached[role].empty()) links[role] = std::move(attached[role]);
    return success();
}

void MarkerAttachments::take_role(Placed& placed, lagtrap_marker_role role,
                                  std::vector<Link>& taken) {
    for (Link& link : std::exchange(placed.links[role], {})) taken.push_back(std::move(link));
}

// In attach order. Callers destroy the links from the last to the first.
void MarkerAttachments::take_all(Placed& placed, std::vector<Link>& taken) {
    for (const lagtrap_marker_role role :
         {LAGTRAP_ROLE_END, LAGTRAP_ROLE_STAGE, LAGTRAP_ROLE_BEGIN})
        take_role(placed, role, taken);
}

std::vector<Link> MarkerAttachments::take_everything(Placed& main,
                                                     std::map<std::uint32_t, Placed>& copies) {
    std::vector<Link> taken;
    take_all(main, taken);
    main.plan.reset();  // it keeps the files open
    for (auto& [number, copy] : copies) take_all(copy, taken);
    copies.clear();
    return taken;
}

std::array<bool, 3> MarkerAttachments::wanted_of(std::uint32_t index) {
    const std::lock_guard lock(attached_mutex_);
    const bool counted_alone = attached_[index].counted_alone;
    std::array<bool, 3> wanted{};
    wanted[LAGTRAP_ROLE_BEGIN] = true;
    wanted[LAGTRAP_ROLE_STAGE] = !counted_alone && !without_stages_.contains(index);
    wanted[LAGTRAP_ROLE_END] = !counted_alone;
    return wanted;
}

// A program can be attached to a tracepoint once, so all events share it. The last event detaches
// it.
Result<std::shared_ptr<std::vector<Link>>> MarkerAttachments::share_run_queue() {
    const std::lock_guard lock(attached_mutex_);
    if (auto attached = run_queue_.lock()) return attached;
    TRY_ASSIGN(auto links, programs_.attach_run_queue());
    auto shared = std::make_shared<std::vector<Link>>(std::move(links));
    run_queue_ = shared;
    return shared;
}

std::vector<ProbeKind> MarkerAttachments::probe_kinds(std::uint32_t index) const {
    const std::lock_guard lock(attached_mutex_);
    const auto found = attached_.find(index);
    return found == attached_.end() ? std::vector<ProbeKind>{} : found->second.kinds;
}

Status MarkerAttachments::attach(std::uint32_t index, const EventPlan& plan, bool count_runs) {
    programs_.give_back_all_sites(index);
    {
        const std::lock_guard lock(attached_mutex_);
        attached_[index].counted_alone = false;
    }
    TRY(programs_.configure_plan(index, plan, wanted_of(index)[LAGTRAP_ROLE_STAGE]));
    Attached attached;
    attached.kinds = kinds_of(plan);
    attached.main.plan = std::make_shared<const EventPlan>(plan);
    TRY(attach_missing({index, 0}, plan, wanted_of(index), attached.main.links));
    const bool awaits_cpu = std::ranges::any_of(plan.markers, [](const MarkerPlan& marker) {
        return marker.marker.kind == settings::MarkerKind::RunQueue;
    });
    if (awaits_cpu) {
        TRY_ASSIGN(attached.run_queue, share_run_queue());
    }
    note_go_places(index, plan, attached);
    marker_places_->note(index, plan);
    {
        const std::lock_guard lock(attached_mutex_);
        attached_[index] = std::move(attached);
    }
    return count_runs ? programs_.let_hits_count(index, true) : success();
}

// All markers except the begin stop having an effect at the same time.
std::vector<Link> MarkerAttachments::count_alone(std::uint32_t index) {
    (void)programs_.count_begins_alone(index);
    std::vector<Link> taken;
    const std::lock_guard lock(attached_mutex_);
    Attached& attached = attached_[index];
    attached.counted_alone = true;
    const auto take = [&](Placed& placed) {
        take_role(placed, LAGTRAP_ROLE_END, taken);
        take_role(placed, LAGTRAP_ROLE_STAGE, taken);
    };
    take(attached.main);
    for (auto& [number, copy] : attached.copies) take(copy);
    return taken;
}

Result<std::vector<Link>> MarkerAttachments::watch_stages(std::uint32_t index, bool wanted) {
    std::vector<Link> taken;
    if (!wanted) TRY(programs_.let_stages_count(index, false));
    {
        const std::lock_guard lock(attached_mutex_);
        if (wanted)
            without_stages_.erase(index);
        else
            without_stages_.insert(index);
        Attached& attached = attached_[index];
        if (!wanted) {
            take_role(attached.main, LAGTRAP_ROLE_STAGE, taken);
            for (auto& [number, copy] : attached.copies) take_role(copy, LAGTRAP_ROLE_STAGE, taken);
        }
    }
    return taken;
}

Status MarkerAttachments::put_back(std::uint32_t index) {
    std::map<std::uint32_t, std::shared_ptr<const EventPlan>> plans;
    {
        const std::lock_guard lock(attached_mutex_);
        Attached& attached = attached_[index];
        attached.counted_alone = false;
        if (attached.main.plan) plans[0] = attached.main.plan;
        for (const auto& [number, copy] : attached.copies) plans[number] = copy.plan;
    }
    const auto wanted = wanted_of(index);
    for (const auto& [number, plan] : plans) {
        Links links;
        {
            const std::lock_guard lock(attached_mutex_);
            Attached& attached = attached_[index];
            links.swap(number == 0 ? attached.main.links : attached.copies.at(number).links);
        }
        const Status done = attach_missing({index, number}, *plan, wanted, links);
        {
            const std::lock_guard lock(attached_mutex_);
            Attached& attached = attached_[index];
            links.swap(number == 0 ? attached.main.links : attached.copies.at(number).links);
        }
        TRY(done);
    }
    return wanted[LAGTRAP_ROLE_STAGE] ? programs_.let_stages_count(index, true) : success();
}

std::vector<std::shared_ptr<const EventPlan>> MarkerAttachments::plans_of(
    std::uint32_t index) const {
    std::vector<std::shared_ptr<const EventPlan>> plans;
    const std::lock_guard lock(attached_mutex_);
    const auto found = attached_.find(index);
    if (found == attached_.end()) return plans;
    if (found->second.main.plan) plans.push_back(found->second.main.plan);
    for (const auto& [number, copy] : found->second.copies) plans.push_back(copy.plan);
    return plans;
}

void MarkerAttachments::note_go_places(std::uint32_t index, const EventPlan& plan,
                                       Attached& attached) const {
    for (const MarkerPlan& marker : plan.markers)
        if (marker.places.file)
            attached.go_places.insert_or_assign(programs_.marker_id_of(index, marker),
                                                go_place_of(marker.places));
}

// The programs store the goroutine number's offset once per marker, and once per event whether
// goroutines are the keys.
Status MarkerAttachments::check_go_of_copy(std::uint32_t index, const EventPlan& plan) {
    decltype(Attached::go_places) known;
    {
        const std::lock_guard lock(attached_mutex_);
        known = attached_[index].go_places;
    }
    if (known.empty()) return programs_.pair_by_goroutine(index, plan.by_goroutine);
    const bool same =
        programs_.pairs_by_goroutine(index) == plan.by_goroutine &&
        std::none_of(plan.markers.begin(), plan.markers.end(), [&](const MarkerPlan& marker) {
            const auto reported = known.find(programs_.marker_id_of(index, marker));
            return reported != known.end() && reported->second != go_place_of(marker.places);
        });
    if (same) return success();
    return make_error(
        ErrorKind::Unsupported,
        "it was built by a different Go version than the file already watched, with another layout "
        "of goroutines; use a separate event for it (binary=\"build-id:...\")");
}

Status MarkerAttachments::attach_copy(std::uint32_t index, std::uint32_t copy,
                                      const EventPlan& plan) {
    TRY(check_go_of_copy(index, plan));
    std::vector<ProbeKind> kinds = kinds_of(plan);
    Placed placed{std::make_shared<const EventPlan>(plan), {}};
    if (const Status done = attach_missing({index, copy}, plan, wanted_of(index), placed.links);
        !done) {
        give_back_copy(index, copy);
        return done;
    }
    marker_places_->note_another(index, plan);
    const std::lock_guard lock(attached_mutex_);
    Attached& attached = attached_[index];
    attached.copies[copy] = std::move(placed);
    note_go_places(index, plan, attached);
    if (attached.kinds.size() < kinds.size()) attached.kinds = std::move(kinds);
    return success();
}

std::vector<Link> MarkerAttachments::take_links_of_copy(std::uint32_t index, std::uint32_t copy) {
    const std::lock_guard lock(attached_mutex_);
    const auto found = attached_.find(index);
    if (found == attached_.end()) return {};
    auto placed = found->second.copies.extract(copy);
    std::vector<Link> taken;
    if (!placed.empty()) take_all(placed.mapped(), taken);
    return taken;
}

void MarkerAttachments::give_back_copy(std::uint32_t index, std::uint32_t copy) {
    programs_.give_back_sites({index, copy});
}

std::vector<Link> MarkerAttachments::take_links(std::uint32_t index) {
    // May be the last reference; must be destroyed after the lock is released.
    std::shared_ptr<std::vector<Link>> run_queue;
    const std::lock_guard lock(attached_mutex_);
    const auto found = attached_.find(index);
    if (found == attached_.end()) return {};
    run_queue = std::move(found->second.run_queue);
    found->second.counted_alone = false;
    return take_everything(found->second.main, found->second.copies);
}

void MarkerAttachments::detach_all() {
    std::vector<std::vector<Link>> links;
    {
        const std::lock_guard lock(attached_mutex_);
        for (auto& [event, attached] : attached_)
            links.push_back(take_everything(attached.main, attached.copies));
        attached_.clear();
    }
    destroy_at_once(std::move(links));
}

}  // namespace lagtrap::daemon
