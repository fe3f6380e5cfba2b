#include "daemon/events/arming_steps.hpp"

namespace lagtrap::daemon {

// Others may begin to detach until the lock is held.
std::unique_lock<std::mutex> ArmingSteps::attach_after_detaching() {
    std::unique_lock held(attaching_, std::defer_lock);
    do {
        if (held.owns_lock()) held.unlock();
        detaching_.wait();
        held.lock();
    } while (!detaching_.idle());
    return held;
}

void ArmingSteps::carry_out(const ArmingPolicy::Step& what) {
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

void ArmingSteps::note_left(std::uint32_t event) {
    if (copies_) copies_->note_left(event);
    breaches_.forget_runs(event);
}

}  // namespace lagtrap::daemon
