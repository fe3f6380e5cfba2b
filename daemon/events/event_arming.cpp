#include "daemon/events/event_arming.hpp"

#include <algorithm>
#include <utility>

#include <boost/asio/post.hpp>

#include "core/timed_call.hpp"

namespace lagtrap::daemon {
namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

// Time to read all files of an event. Large programs take some seconds on a busy machine.
constexpr auto first_budget = 5s;
constexpr auto full_budget = 20s;
constexpr auto look_timeout = 2s;

std::string being_written(const std::string& binary) {
    return binary + " is being written; it will be watched afterwards";
}

}  // namespace

EventArming::EventArming(const std::vector<settings::Event>& events, MonitorPrograms& programs,
                         MarkerAttachments& attachments, Options options)
    : events_(events),
      programs_(programs),
      attachments_(attachments),
      options_(std::move(options)),
      hits_held_(options_.hold_hits),
      states_(events.size()) {
    guard_ = std::make_unique<WriteGuard>([this](const std::string& path) {
        leave(events_in(path), being_written(path));
        if (!copies_) return;
        for (const auto& [event, copy] : copies_->leave_file(path)) detach_copy(event, copy);
    });
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
    std::vector<std::future<void>> detaching;
    {
        const std::lock_guard lock(state_mutex_);
        detaching.swap(detaching_);
    }
    detaching.clear();  // waits until they are detached
}

std::vector<std::uint32_t> EventArming::events_in(const std::string& path) const {
    std::vector<std::uint32_t> events;
    for (std::uint32_t event = 0; event < events_.size(); ++event)
        if (binaries_of(events_[event]).contains(path)) events.push_back(event);
    return events;
}

std::unique_ptr<EventPlanner> EventArming::make_planner(
    const std::vector<settings::Event>& events) {
    auto planner = std::make_unique<EventPlanner>(
        [this](const std::string& path) { return files_->open(path); },
        [this](const std::string& path) { return files_->follow(path); });
    planner->expect(events);
    return planner;
}

// attach() has noted success. The event may have been detached again by now.
void EventArming::finish(std::uint32_t event, const Status& armed) {
    const std::lock_guard lock(state_mutex_);
    states_[event].arming = false;
    if (!armed) states_[event].problem = armed.error().message;
}

void EventArming::arm_all(std::function<void()> on_first_round) {
    boost::asio::post(pool_, [this, then = std::move(on_first_round)] { arm_first_round(then); });
}

void EventArming::arm_first_round(const std::function<void()>& on_first_round) {
    std::vector<std::uint32_t> slow;
    const auto planner = make_planner(events_);
    for (std::uint32_t event = 0; event < events_.size() && !given_up_.load(); ++event) {
        const Status armed = arm(event, *planner, first_budget);
        if (!armed && armed.error().kind == ErrorKind::Timeout)
            slow.push_back(event);
        else
            finish(event, armed);
    }
    look_at_copies_now();
    on_first_round();
    std::vector<settings::Event> late;
    late.reserve(slow.size());
    for (const std::uint32_t event : slow) late.push_back(events_[event]);
    const std::shared_ptr<EventPlanner> patient = make_planner(late);
    for (const std::uint32_t event : slow)
        boost::asio::post(pool_, [this, event, patient] { arm_late(event, *patient); });
}

void EventArming::arm_late(std::uint32_t event, EventPlanner& planner, bool tell) {
    if (given_up_.load()) return;
    const Status armed = arm(event, planner, full_budget);
    finish(event, armed);
    if (armed) look_at_copies();
    if (tell || !armed) options_.on_armed(event, armed);
}

Status EventArming::arm(std::uint32_t event, EventPlanner& planner, Duration budget) {
    const auto plan = planner.plan(events_[event], {Clock::now() + budget, &given_up_});
    if (!plan) return files_->blame(planner.last_file(), plan.error());
    return attach(event, *plan);
}

Status EventArming::attach(std::uint32_t event, const EventPlan& plan) {
    const std::lock_guard attaching(attach_mutex_);
    for (const std::string& binary : binaries_of(events_[event]))
        if (guard_->written(binary)) return make_error(ErrorKind::Busy, being_written(binary));
    TRY(attachments_.attach(event, plan, !hits_held_.load()));
    Status unchanged = check_unchanged(plan);
    if (unchanged) {
        const std::lock_guard lock(state_mutex_);
        states_[event] = {false, false, false, {}};
    } else {
        (void)programs_.let_hits_count(event, false);
        auto links = attachments_.take_links(event);
        while (!links.empty()) links.pop_back();
    }
    return unchanged;
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

void EventArming::leave(const std::vector<std::uint32_t>& events, const std::string& problem) {
    const std::lock_guard attaching(attach_mutex_);
    for (const std::uint32_t event : events) (void)programs_.let_hits_count(event, false);
    for (const std::uint32_t event : events) {
        auto links = attachments_.take_links(event);
        while (!links.empty()) links.pop_back();
        note_left(event);
        const std::lock_guard lock(state_mutex_);
        if (!states_[event].shed) states_[event].problem = problem;
        states_[event].counted = false;
    }
}

void EventArming::shed(std::uint32_t event, std::string reason, bool count) {
    const std::lock_guard attaching(attach_mutex_);
    {
        const std::lock_guard lock(state_mutex_);
        states_[event].problem = std::move(reason);
        states_[event].shed = true;
        states_[event].counted = count;
    }
    // with `count`, the markers are detached one by one
    if (!count) (void)programs_.let_hits_count(event, false);
    auto leaving = count ? attachments_.count_alone(event) : attachments_.take_links(event);
    (void)programs_.release_all(event);
    auto detached =
        std::async(std::launch::async, [this, event, count, links = std::move(leaving)]() mutable {
            while (!links.empty()) links.pop_back();
            if (count)
                options_.on_left(event);
            else
                note_left(event);
        });
    const std::lock_guard lock(state_mutex_);
    detaching_.push_back(std::move(detached));
}

void EventArming::await_detached() {
    std::vector<std::future<void>> detaching;
    {
        const std::lock_guard lock(state_mutex_);
        detaching.swap(detaching_);
    }
    detaching.clear();  // waits until they are detached
}

void EventArming::arm_again(std::uint32_t event, bool tell) {
    boost::asio::post(pool_, [this, event, tell] {
        await_detached();  // its markers may still be on their way out
        arm_now(event, tell);
    });
}

// If the begin markers stayed attached, the others return to the same addresses; nothing is read
// again.
void EventArming::arm_now(std::uint32_t event, bool tell) {
    if (state(event).counted) {
        if (put_back(event)) {
            if (tell) options_.on_armed(event, success());
            return look_at_copies();
        }
        leave({event}, "its markers are being reattached");
    }
    arm_late(event, *make_planner({events_[event]}), tell);
}

Status EventArming::put_back(std::uint32_t event) {
    const std::lock_guard attaching(attach_mutex_);
    for (const auto& plan : attachments_.plans_of(event)) {
        for (const MarkerPlan& marker : plan->markers)
            if (marker.places.file && guard_->written(marker.places.file->path()))
                return make_error(ErrorKind::Busy, being_written(marker.places.file->path()));
        TRY(check_unchanged(*plan));
    }
    TRY(attachments_.put_back(event));
    if (!hits_held_.load()) TRY(programs_.let_hits_count(event, true));
    const std::lock_guard lock(state_mutex_);
    states_[event] = {false, false, false, {}};
    return success();
}

Status EventArming::watch_stages(std::uint32_t event, bool wanted) {
    {
        const std::lock_guard attaching(attach_mutex_);
        TRY_ASSIGN(auto leaving, attachments_.watch_stages(event, wanted));
        options_.on_stages_left(event);
        if (!wanted) {
            auto detached = std::async(std::launch::async, [links = std::move(leaving)]() mutable {
                while (!links.empty()) links.pop_back();
            });
            const std::lock_guard lock(state_mutex_);
            detaching_.push_back(std::move(detached));
            return success();
        }
    }
    boost::asio::post(pool_, [this, event] {
        await_detached();
        if (!state(event).armed()) return;
        if (put_back(event)) return;
        leave({event}, "its markers are being reattached");
        arm_late(event, *make_planner({events_[event]}));
    });
    return success();
}

void EventArming::let_hits_count() {
    const std::lock_guard attaching(attach_mutex_);
    hits_held_.store(false);
    for (std::uint32_t event = 0; event < events_.size(); ++event)
        if (state(event).armed()) (void)programs_.let_hits_count(event, true);
}

void EventArming::hold_hits() {
    const std::lock_guard attaching(attach_mutex_);
    hits_held_.store(true);
    for (std::uint32_t event = 0; event < events_.size(); ++event)
        (void)programs_.let_hits_count(event, false);
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

std::set<std::uint32_t> EventArming::armed_events() const {
    std::set<std::uint32_t> events;
    const std::lock_guard lock(state_mutex_);
    for (std::uint32_t event = 0; event < states_.size(); ++event)
        if (states_[event].attachable()) events.insert(event);
    return events;
}

void EventArming::look_at_copies() {
    if (!copies_ || copies_wanted_.exchange(true)) return;
    boost::asio::post(pool_, [this] { look_at_copies_now(); });
}

void EventArming::look_at_copies_now() {
    copies_wanted_.store(false);
    if (!copies_ || given_up_.load()) return;
    CopyArming::Look look = copies_->look(files_->main_files());
    for (const auto& file : look.opened) (void)guard_->hold(file);
    detach_copies(std::move(look.leaving));
    copies_->arm_missing(armed_events(), [this](auto event, auto copy, const EventPlan& plan) {
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
    for (const MarkerPlan& marker : plan.markers)
        if (marker.places.file && guard_->written(marker.places.file->path()))
            return make_error(ErrorKind::Denied, being_written(marker.places.file->path()));
    TRY(attachments_.attach_copy(event, copy, plan));
    Status unchanged = check_unchanged(plan);
    if (!unchanged) {
        auto links = attachments_.take_links_of_copy(event, copy);
        while (!links.empty()) links.pop_back();
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
    while (!links.empty()) links.pop_back();
    const std::lock_guard attaching(attach_mutex_);
    attachments_.give_back_copy(event, copy);
}

void EventArming::note_left(std::uint32_t event) {
    if (copies_) copies_->note_left(event);
    options_.on_left(event);
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
    const auto events = events_in(path);
    leave(events, path + " was changed; its markers are being reattached");
    files_->note_rearmed(path);
    std::vector<settings::Event> planned;
    planned.reserve(events.size());
    for (const std::uint32_t event : events) planned.push_back(events_[event]);
    options_.on_replaced(path);
    const auto planner = make_planner(planned);
    for (const std::uint32_t event : events) {
        if (!state(event).shed) arm_late(event, *planner);
    }
}

EventArming::EventState EventArming::state(std::uint32_t event) const {
    const std::lock_guard lock(state_mutex_);
    return states_[event];
}

std::size_t EventArming::count_arming() const {
    const std::lock_guard lock(state_mutex_);
    return static_cast<std::size_t>(std::count_if(
        states_.begin(), states_.end(), [](const EventState& state) { return state.arming; }));
}

}  // namespace lagtrap::daemon
