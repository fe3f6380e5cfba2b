#include "daemon/events/copy_watch.hpp"

#include <set>
#include <utility>

#include <boost/asio/post.hpp>

#include "daemon/events/plan_files.hpp"

namespace lagtrap::daemon {

CopyWatch::CopyWatch(const Parts& parts) : parts_(parts), timer_(parts.arming_thread) {}

void CopyWatch::start() {
    subscription_ = parts_.mapped_files.subscribe([this] { look(); });
}

void CopyWatch::stop() {
    stopped_.store(true);
    parts_.mapped_files.unsubscribe(subscription_);
}

void CopyWatch::look() {
    parts_.copies.expect_look();
    if (wanted_.exchange(true)) return;
    boost::asio::post(parts_.arming_thread, [this] { look_now(); });
}

void CopyWatch::look_now() {
    if (stopped_.load()) return;
    parts_.copies.expect_look();  // before the other flag, so that one of them is always set
    wanted_.store(false);
    CopyArming::Look look = parts_.copies.look(parts_.files.main_files());
    for (const auto& file : look.opened) (void)parts_.guard.hold(file);
    detach(std::move(look.leaving));
    const std::set<std::uint32_t> attachable =
        parts_.steps.ask([](const auto& policy) { return policy.attachable(); });
    parts_.copies.arm_missing(attachable, [this](auto event, auto copy, const EventPlan& plan) {
        return attach_one(event, copy, plan);
    });
    const auto again = parts_.copies.next_look();
    if (!again) return;
    timer_.expires_after(*again);
    timer_.async_wait([this](const auto& failure) {
        if (!failure) look_now();
    });
}

// On another thread, because detaching takes tens of milliseconds per copy, and runs may begin.
void CopyWatch::detach(std::vector<CopyArming::Leaving> leaving) {
    if (leaving.empty()) return;
    boost::asio::post(leaving_pool_, [this, copies = std::move(leaving)] {
        for (const CopyArming::Leaving& copy : copies) {
            for (const std::uint32_t event : copy.armed) detach_one(event, copy.copy);
            parts_.guard.release(copy.file->path());
            parts_.copies.note_detached(*copy.file);
        }
        look();
    });
}

void CopyWatch::leave(const std::string& path) {
    for (const auto& [event, copy] : parts_.copies.leave_file(path)) detach_one(event, copy);
}

Status CopyWatch::attach_one(std::uint32_t event, std::uint32_t copy, const EventPlan& plan) {
    const auto attaching = parts_.steps.attaching();
    if (!parts_.steps.ask([&](const auto& policy) { return policy.state(event).attachable(); }))
        return make_error(ErrorKind::Busy, "the event is not armed");
    if (const Status idle = check_not_written(parts_.guard, files_of(plan)); !idle)
        return make_error(ErrorKind::Denied, idle.error().message);
    TRY(parts_.attachments.attach_copy(event, copy, plan));
    Status unchanged = check_unchanged(parts_.guard, plan);
    if (!unchanged) {
        destroy(parts_.attachments.take_links_of_copy(event, copy));
        parts_.attachments.give_back_copy(event, copy);
    }
    return unchanged;
}

void CopyWatch::detach_one(std::uint32_t event, std::uint32_t copy) {
    std::vector<Link> links;
    {
        const auto attaching = parts_.steps.attaching();
        links = parts_.attachments.take_links_of_copy(event, copy);
    }
    destroy(std::move(links));
    const auto attaching = parts_.steps.attaching();
    parts_.attachments.give_back_copy(event, copy);
}

}  // namespace lagtrap::daemon
