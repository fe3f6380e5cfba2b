#include "daemon/events/event_arming.hpp"

#include <numeric>
#include <utility>

#include <boost/asio/post.hpp>

#include "core/timed_call.hpp"

namespace lagtrap::daemon {
namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr auto look_timeout = 2s;

std::string being_written(const std::string& binary) {
    return binary + " is being written; it will be watched afterwards";
}

std::set<std::string> files_of(const EventPlan& plan) {
    std::set<std::string> paths;
    for (const MarkerPlan& marker : plan.markers)
        if (marker.places.file) paths.insert(marker.places.file->path());
    return paths;
}

}  // namespace

EventArming::EventArming(const std::vector<settings::Event>& events, MonitorPrograms& programs,
                         MarkerAttachments& attachments, BreachWatch& breaches, Options options)
    : events_(events),
      programs_(programs),
      attachments_(attachments),
      breaches_(breaches),
      options_(std::move(options)),
      policy_(events.size(), options_.hold_hits) {
    guard_ = std::make_unique<WriteGuard>([this](const std::string& path) { leave(path); });
    files_ = std::make_unique<SettingsFiles>(events_, *guard_, options_.mapped_files != nullptr);
    if (!options_.mapped_files) return;
    copies_ = std::make_unique<CopyArming>(events_, *options_.mapped_files, *options_.inspector,
                                           *options_.names, given_up_);
    subscription_ = options_.mapped_files->subscribe([this] { look_at_copies(); });
}

EventArming::~EventArming() { stop(); }

void EventArming::stop() {
    given_up_.store(true);
    if (copies_) options_.mapped_files->unsubscribe(subscription_);
    pool_.stop();
    pool_.join();
    leaving_pool_.join();
    detaching_.wait();
}

std::vector<std::uint32_t> EventArming::events_in(const std::string& path) const {
    std::vector<std::uint32_t> events;
    for (std::uint32_t event = 0; event < events_.size(); ++event)
        if (binaries_of(events_[event]).contains(path)) events.push_back(event);
    return events;
}

template <typename Fact>
EventArming::Followups EventArming::decide(const Fact& fact) {
    ArmingPolicy::Decision decision;
    {
        const std::lock_guard lock(state_mutex_);
        decision = fact(policy_);
    }
    for (const ArmingPolicy::Step& one : decision.steps) carry_out(one);
    return std::move(decision.next);
}

void EventArming::carry_out(const ArmingPolicy::Step& what) {
    using Kind = ArmingPolicy::Step::Kind;
    const std::uint32_t event = what.event;
    switch (what.kind) {
        case Kind::IgnoreHits: (void)programs_.let_hits_count(event, false); break;
        case Kind::HandleHits: (void)programs_.let_hits_count(event, true); break;
        case Kind::EndLimits: (void)programs_.release_all(event); break;
        case Kind::KeepBegins:
            detaching_.start(attachments_.count_alone(event),
                             [this, event] { breaches_.forget_runs(event); });
            break;
        case Kind::Detach:
            destroy(attachments_.take_links(event));
            note_left(event);
            break;
        case Kind::DetachSoon:
            detaching_.start(attachments_.take_links(event), [this, event] { note_left(event); });
            break;
    }
}

// disable() holds attach_mutex_ while it begins to detach.
template <typename Fact>
void EventArming::resume(const Fact& fact) {
    std::unique_lock attaching(attach_mutex_, std::defer_lock);
    do {
        if (attaching.owns_lock()) attaching.unlock();
        detaching_.wait();
        attaching.lock();
    } while (!detaching_.idle());
    const Followups followups = decide(fact);
    attaching.unlock();
    follow(followups);
}

void EventArming::follow(const Followups& followups) {
    using Kind = ArmingPolicy::Next::Kind;
    std::vector<std::uint32_t> planned;
    for (const auto& next : followups)
        if (next.kind == Kind::Arm) planned.push_back(next.event);
    const auto planner = make_planner(planned);
    for (const auto& next : followups) {
        switch (next.kind) {
            case Kind::Arm: follow(arm(next.event, *planner)); break;
            case Kind::PutBack: follow(put_back(next.event)); break;
            case Kind::LookAtCopies: look_at_copies(); break;
            case Kind::Report: options_.report(EventArmed{next.event, next.problem}); break;
        }
    }
}

std::unique_ptr<EventPlanner> EventArming::make_planner(const std::vector<std::uint32_t>& events) {
    auto planner = std::make_unique<EventPlanner>(
        [this](const std::string& path) { return files_->open(path); },
        [this](const std::string& path) { return files_->follow(path); });
    std::vector<settings::Event> planned;
    planned.reserve(events.size());
    for (const std::uint32_t event : events) planned.push_back(events_[event]);
    planner->expect(planned);
    return planner;
}

void EventArming::arm_all() {
    boost::asio::post(pool_, [this] { arm_first_round(); });
}

void EventArming::arm_first_round() {
    std::vector<std::uint32_t> all(events_.size());
    std::iota(all.begin(), all.end(), 0U);
    const auto planner = make_planner(all);
    for (const std::uint32_t event : all) (void)arm(event, *planner);
    look_at_copies_now();
    options_.report(FirstRoundOver{});
    std::vector<std::uint32_t> late;
    for (const auto& next : decide([](auto& policy) { return policy.end_first_round(); }))
        late.push_back(next.event);
    const std::shared_ptr<EventPlanner> patient = make_planner(late);
    for (const std::uint32_t event : late)
        boost::asio::post(pool_, [this, event, patient] { follow(arm(event, *patient)); });
}

EventArming::Followups EventArming::arm(std::uint32_t event, EventPlanner& planner) {
    std::chrono::seconds budget{};
    {
        const std::lock_guard lock(state_mutex_);
        if (given_up_.load() || !policy_.may_arm(event)) return {};
        budget = policy_.budget();
    }
    const auto plan = planner.plan(events_[event], {Clock::now() + budget, &given_up_});
    const std::lock_guard attaching(attach_mutex_);
    if (plan) return attach(event, *plan);
    const Error error = files_->blame(planner.last_file(), plan.error());
    return decide([&](auto& policy) { return policy.note_not_armed(event, error); });
}

EventArming::Followups EventArming::attach(std::uint32_t event, const EventPlan& plan) {
    bool handles_hits = false;
    {
        const std::lock_guard lock(state_mutex_);
        if (!policy_.may_arm(event)) return {};
        handles_hits = !policy_.holds_hits();
    }
    Status attached = check_not_written(binaries_of(events_[event]));
    if (attached) attached = attachments_.attach(event, plan, handles_hits);
    if (!attached)
        return decide([&](auto& policy) { return policy.note_not_armed(event, attached.error()); });
    const Status unchanged = check_unchanged(plan);
    return decide([&](auto& policy) {
        return unchanged ? policy.note_armed(event) : policy.note_changed(event, unchanged.error());
    });
}

Status EventArming::check_not_written(const std::set<std::string>& paths) const {
    for (const std::string& path : paths)
        if (guard_->written(path)) return make_error(ErrorKind::Busy, being_written(path));
    return success();
}

// A lease protects a file from before it was read.
Status EventArming::check_unchanged(const EventPlan& plan) const {
    for (const MarkerPlan& marker : plan.markers) {
        const auto& file = marker.places.file;
        if (!file || guard_->holds(file->path())) continue;
        TRY_ASSIGN(const bool unchanged,
                   call_within<bool>(look_timeout, file->path(),
                                     [file]() -> Result<bool> { return file->unchanged(); }));
        if (!unchanged)
            return make_error(ErrorKind::Busy, file->path() + " changed while it was read");
    }
    return success();
}

void EventArming::leave(const std::string& path) {
    {
        const std::lock_guard attaching(attach_mutex_);
        (void)decide(
            [&](auto& policy) { return policy.leave(events_in(path), being_written(path)); });
    }
    if (!copies_) return;
    for (const auto& [event, copy] : copies_->leave_file(path)) detach_copy(event, copy);
}

void EventArming::disable(std::uint32_t event, const std::string& reason, bool count) {
    const std::lock_guard attaching(attach_mutex_);
    (void)decide([&](auto& policy) { return policy.disable(event, reason, count); });
}

void EventArming::enable(std::uint32_t event, bool report_success) {
    {
        const std::lock_guard lock(state_mutex_);
        if (!policy_.enable(event, report_success)) return;
    }
    boost::asio::post(
        pool_, [this, event] { resume([event](auto& policy) { return policy.resume(event); }); });
}

// Nothing is read again: the markers return to the same addresses.
EventArming::Followups EventArming::put_back(std::uint32_t event) {
    const std::lock_guard attaching(attach_mutex_);
    {
        const std::lock_guard lock(state_mutex_);
        if (!policy_.may_put_back(event)) return {{ArmingPolicy::Next::Kind::Arm, event}};
    }
    const Status attached = attach_again(event);
    return decide([&](auto& policy) { return policy.note_put_back(event, attached); });
}

Status EventArming::attach_again(std::uint32_t event) {
    for (const auto& plan : attachments_.plans_of(event)) {
        TRY(check_not_written(files_of(*plan)));
        TRY(check_unchanged(*plan));
    }
    return attachments_.put_back(event);
}

Status EventArming::watch_stages(std::uint32_t event, bool wanted) {
    {
        const std::lock_guard attaching(attach_mutex_);
        TRY_ASSIGN(auto leaving, attachments_.watch_stages(event, wanted));
        breaches_.forget_stages(event);
        if (!wanted) {
            detaching_.start(std::move(leaving), [] {});
            return success();
        }
    }
    boost::asio::post(pool_, [this, event] {
        resume([event](auto& policy) { return policy.resume_stages(event); });
    });
    return success();
}

void EventArming::let_hits_count() {
    const std::lock_guard attaching(attach_mutex_);
    (void)decide([](auto& policy) { return policy.handle_hits(); });
}

void EventArming::hold_hits() {
    const std::lock_guard attaching(attach_mutex_);
    (void)decide([](auto& policy) { return policy.hold_hits(); });
}

void EventArming::look_at_files() {
    if (look_wanted_.exchange(true)) return;
    boost::asio::post(pool_, [this] {
        look_wanted_.store(false);
        for (const std::string& path : files_->paths())
            if (!given_up_.load()) look_at(path);
        look_at_copies_now();
    });
}

void EventArming::look_at_copies() {
    if (!copies_) return;
    copies_->expect_look();
    if (copies_wanted_.exchange(true)) return;
    boost::asio::post(pool_, [this] { look_at_copies_now(); });
}

void EventArming::look_at_copies_now() {
    if (!copies_ || given_up_.load()) return;
    copies_->expect_look();  // before the other flag, so that one of them is always set
    copies_wanted_.store(false);
    CopyArming::Look look = copies_->look(files_->main_files());
    for (const auto& file : look.opened) (void)guard_->hold(file);
    detach_copies(std::move(look.leaving));
    std::set<std::uint32_t> attachable;
    {
        const std::lock_guard lock(state_mutex_);
        attachable = policy_.attachable();
    }
    copies_->arm_missing(attachable, [this](auto event, auto copy, const EventPlan& plan) {
        return attach_copy(event, copy, plan);
    });
    const auto again = copies_->next_look();
    if (!again) return;
    copies_timer_.expires_after(*again);
    copies_timer_.async_wait([this](const auto& failure) {
        if (!failure) look_at_copies_now();
    });
}

// On another thread, because detaching takes tens of milliseconds per copy, and runs may begin.
void EventArming::detach_copies(std::vector<CopyArming::Leaving> leaving) {
    if (leaving.empty()) return;
    boost::asio::post(leaving_pool_, [this, copies = std::move(leaving)] {
        for (const CopyArming::Leaving& copy : copies) {
            for (const std::uint32_t event : copy.armed) detach_copy(event, copy.copy);
            guard_->release(copy.file->path());
            copies_->note_detached(*copy.file);
        }
        look_at_copies();
    });
}

Status EventArming::attach_copy(std::uint32_t event, std::uint32_t copy, const EventPlan& plan) {
    const std::lock_guard attaching(attach_mutex_);
    if (!state(event).attachable()) return make_error(ErrorKind::Busy, "the event is not armed");
    if (const Status idle = check_not_written(files_of(plan)); !idle)
        return make_error(ErrorKind::Denied, idle.error().message);
    TRY(attachments_.attach_copy(event, copy, plan));
    Status unchanged = check_unchanged(plan);
    if (!unchanged) {
        destroy(attachments_.take_links_of_copy(event, copy));
        attachments_.give_back_copy(event, copy);
    }
    return unchanged;
}

void EventArming::detach_copy(std::uint32_t event, std::uint32_t copy) {
    std::vector<Link> links;
    {
        const std::lock_guard attaching(attach_mutex_);
        links = attachments_.take_links_of_copy(event, copy);
    }
    destroy(std::move(links));
    const std::lock_guard attaching(attach_mutex_);
    attachments_.give_back_copy(event, copy);
}

void EventArming::note_left(std::uint32_t event) {
    if (copies_) copies_->note_left(event);
    breaches_.forget_runs(event);
}

EventCopies EventArming::copies_of(std::uint32_t event) const {
    return copies_ ? copies_->of(event, state(event).attachable()) : EventCopies{};
}

void EventArming::look_at(const std::string& path) {
    const auto file = files_->file(path);
    const bool mapped = file && copies_ && copies_->has_processes(*file);
    if (files_->look_at(path, mapped) != SettingsFiles::Change::Replaced) return;
    rearm(path);
    if (!files_->file(path)) guard_->release(path);
}

void EventArming::rearm(const std::string& path) {
    Followups followups;
    {
        const std::lock_guard attaching(attach_mutex_);
        followups = decide([&](auto& policy) {
            return policy.replace(events_in(path),
                                  path + " was changed; its markers are being reattached");
        });
    }
    files_->note_rearmed(path);
    options_.report(FileReplaced{path});
    follow(followups);
}

ArmingPolicy::State EventArming::state(std::uint32_t event) const {
    const std::lock_guard lock(state_mutex_);
    return policy_.state(event);
}

std::size_t EventArming::count_arming() const {
    const std::lock_guard lock(state_mutex_);
    return policy_.count_arming();
}

}  // namespace lagtrap::daemon
