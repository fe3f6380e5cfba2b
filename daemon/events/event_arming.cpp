#include "daemon/events/event_arming.hpp"

#include <numeric>
#include <utility>

#include <boost/asio/post.hpp>

#include "daemon/events/plan_files.hpp"

namespace lagtrap::daemon {
namespace {

using Clock = std::chrono::steady_clock;

std::unique_ptr<CopyArming> make_copies(const std::vector<settings::Event>& events,
                                        const EventArming::Options& options,
                                        const std::atomic<bool>& stopped) {
    if (!options.mapped_files) return nullptr;
    return std::make_unique<CopyArming>(events, *options.mapped_files, *options.inspector,
                                        *options.names, stopped);
}

}  // namespace

EventArming::EventArming(const std::vector<settings::Event>& events, MonitorPrograms& programs,
                         MarkerAttachments& attachments, BreachWatch& breaches,
                         const Options& options)
    : events_(events),
      attachments_(attachments),
      breaches_(breaches),
      report_(options.report),
      copies_(make_copies(events_, options, stopping_)),
      steps_(ArmingPolicy(events.size(), options.hold_hits), programs, attachments, breaches,
             copies_.get()),
      guard_(std::make_unique<WriteGuard>([this](const std::string& path) { leave(path); })) {
    files_ = std::make_unique<SettingsFiles>(events_, *guard_, copies_ != nullptr);
    if (!copies_) return;
    copy_watch_ = std::make_unique<CopyWatch>(CopyWatch::Parts{
        *copies_, *options.mapped_files, *files_, attachments_, steps_, *guard_, pool_});
    copy_watch_->start();
}

EventArming::~EventArming() { stop(); }

void EventArming::stop() {
    stopping_.store(true);
    if (copy_watch_) copy_watch_->stop();
    pool_.stop();
    pool_.join();
    if (copy_watch_) copy_watch_->wait();
    steps_.wait();
}

std::vector<std::uint32_t> EventArming::events_in(const std::string& path) const {
    std::vector<std::uint32_t> events;
    for (std::uint32_t event = 0; event < events_.size(); ++event)
        if (binaries_of(events_[event]).contains(path)) events.push_back(event);
    return events;
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
            case Kind::Report: report_(EventArmed{next.event, next.problem}); break;
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
    if (copy_watch_) copy_watch_->look_now();
    report_(FirstRoundOver{});
    std::vector<std::uint32_t> late;
    for (const auto& next : steps_.decide([](auto& policy) { return policy.end_first_round(); }))
        late.push_back(next.event);
    const std::shared_ptr<EventPlanner> patient = make_planner(late);
    for (const std::uint32_t event : late)
        boost::asio::post(pool_, [this, event, patient] { follow(arm(event, *patient)); });
}

EventArming::Followups EventArming::arm(std::uint32_t event, EventPlanner& planner) {
    if (stopping_.load() || !steps_.ask([&](auto& policy) { return policy.may_arm(event); }))
        return {};
    const auto budget = steps_.ask([](const auto& policy) { return policy.budget(); });
    const auto plan = planner.plan(events_[event], {Clock::now() + budget, &stopping_});
    const auto attaching = steps_.attaching();
    if (plan) return attach(event, *plan);
    const Error error = files_->blame(planner.last_file(), plan.error());
    return steps_.decide([&](auto& policy) { return policy.note_not_armed(event, error); });
}

EventArming::Followups EventArming::attach(std::uint32_t event, const EventPlan& plan) {
    if (!steps_.ask([&](const auto& policy) { return policy.may_arm(event); })) return {};
    const bool handles_hits = !steps_.ask([](const auto& policy) { return policy.holds_hits(); });
    Status attached = check_not_written(*guard_, binaries_of(events_[event]));
    if (attached) attached = attachments_.attach(event, plan, handles_hits);
    if (!attached)
        return steps_.decide(
            [&](auto& policy) { return policy.note_not_armed(event, attached.error()); });
    const Status unchanged = check_unchanged(*guard_, plan);
    return steps_.decide([&](auto& policy) {
        return unchanged ? policy.note_armed(event) : policy.note_changed(event, unchanged.error());
    });
}

void EventArming::leave(const std::string& path) {
    {
        const auto attaching = steps_.attaching();
        (void)steps_.decide(
            [&](auto& policy) { return policy.leave(events_in(path), being_written(path)); });
    }
    if (copy_watch_) copy_watch_->leave(path);
}

void EventArming::disable(std::uint32_t event, const std::string& reason, bool count) {
    const auto attaching = steps_.attaching();
    (void)steps_.decide([&](auto& policy) { return policy.disable(event, reason, count); });
}

void EventArming::enable(std::uint32_t event, bool report_success) {
    if (!steps_.enable(event, report_success)) return;
    boost::asio::post(pool_, [this, event] {
        follow(steps_.resume([event](auto& policy) { return policy.resume(event); }));
    });
}

// Nothing is read again: the markers return to the same addresses.
EventArming::Followups EventArming::put_back(std::uint32_t event) {
    const auto attaching = steps_.attaching();
    if (!steps_.ask([&](const auto& policy) { return policy.may_put_back(event); }))
        return {{ArmingPolicy::Next::Kind::Arm, event}};
    const Status attached = attach_again(event);
    return steps_.decide([&](auto& policy) { return policy.note_put_back(event, attached); });
}

Status EventArming::attach_again(std::uint32_t event) {
    for (const auto& plan : attachments_.plans_of(event)) {
        TRY(check_not_written(*guard_, files_of(*plan)));
        TRY(check_unchanged(*guard_, *plan));
    }
    return attachments_.put_back(event);
}

Status EventArming::watch_stages(std::uint32_t event, bool wanted) {
    {
        const auto attaching = steps_.attaching();
        TRY_ASSIGN(auto leaving, attachments_.watch_stages(event, wanted));
        breaches_.forget_stages(event);
        if (!wanted) {
            steps_.detach(std::move(leaving));
            return success();
        }
    }
    boost::asio::post(pool_, [this, event] {
        follow(steps_.resume([event](auto& policy) { return policy.resume_stages(event); }));
    });
    return success();
}

void EventArming::let_hits_count() {
    const auto attaching = steps_.attaching();
    (void)steps_.decide([](auto& policy) { return policy.handle_hits(); });
}

void EventArming::hold_hits() {
    const auto attaching = steps_.attaching();
    (void)steps_.decide([](auto& policy) { return policy.hold_hits(); });
}

void EventArming::look_at_files() {
    if (look_wanted_.exchange(true)) return;
    boost::asio::post(pool_, [this] {
        look_wanted_.store(false);
        for (const std::string& path : files_->paths())
            if (!stopping_.load()) look_at(path);
        if (copy_watch_) copy_watch_->look_now();
    });
}

void EventArming::look_at_copies() {
    if (copy_watch_) copy_watch_->look();
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
        const auto attaching = steps_.attaching();
        followups = steps_.decide([&](auto& policy) {
            return policy.replace(events_in(path),
                                  path + " was changed; its markers are being reattached");
        });
    }
    files_->note_rearmed(path);
    report_(FileReplaced{path});
    follow(followups);
}

}  // namespace lagtrap::daemon
