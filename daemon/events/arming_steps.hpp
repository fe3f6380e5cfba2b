// Asks the arming policy, and carries out what must happen before anybody else attaches or detaches
// markers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

#include "daemon/events/arming_policy.hpp"
#include "daemon/events/breach_watch.hpp"
#include "daemon/events/copy_arming.hpp"
#include "daemon/events/detaching.hpp"
#include "daemon/events/marker_attachments.hpp"
#include "daemon/events/monitor_programs.hpp"

namespace lagtrap::daemon {

// Thread-safe.
class ArmingSteps {
  public:
    using Followups = std::vector<ArmingPolicy::Next>;

    // All but `policy` must outlive it. `copies` may be nullptr.
    ArmingSteps(ArmingPolicy policy, MonitorPrograms& programs, MarkerAttachments& attachments,
                BreachWatch& breaches, CopyArming* copies)
        : programs_(programs),
          attachments_(attachments),
          breaches_(breaches),
          copies_(copies),
          policy_(std::move(policy)) {}

    // Hold this while you attach or detach markers.
    [[nodiscard]] std::unique_lock<std::mutex> attaching() { return std::unique_lock(attaching_); }
    // Passes the policy to `question`, which returns what it wants to know.
    template <typename Question>
    auto ask(const Question& question) const {
        const std::lock_guard lock(state_);
        return question(policy_);
    }
    // ArmingPolicy::enable()
    [[nodiscard]] bool enable(std::uint32_t event, bool report_success) {
        const std::lock_guard lock(state_);
        return policy_.enable(event, report_success);
    }
    // Tells the policy a fact: `fact` calls one of its functions. Carries out the steps that
    // follow. Hold attaching().
    template <typename Fact>
    Followups decide(const Fact& fact) {
        ArmingPolicy::Decision decision;
        {
            const std::lock_guard lock(state_);
            decision = fact(policy_);
        }
        for (const ArmingPolicy::Step& one : decision.steps) carry_out(one);
        return std::move(decision.next);
    }
    // decide() when nothing is being detached in the background. Do not hold attaching().
    template <typename Fact>
    [[nodiscard]] Followups resume(const Fact& fact) {
        const auto held = attach_after_detaching();
        return decide(fact);
    }
    // Detaches these in the background. Hold attaching().
    void detach(std::vector<Link> links) {
        detaching_.start(std::move(links), [] {});
    }
    void wait() { detaching_.wait(); }

  private:
    [[nodiscard]] std::unique_lock<std::mutex> attach_after_detaching();
    void carry_out(const ArmingPolicy::Step& what);
    void note_left(std::uint32_t event);

    MonitorPrograms& programs_;
    MarkerAttachments& attachments_;
    BreachWatch& breaches_;
    CopyArming* copies_;
    std::mutex attaching_;
    mutable std::mutex state_;
    ArmingPolicy policy_;  // protected by state_
    Detaching detaching_;  // last: its threads use the others
};

}  // namespace lagtrap::daemon
