// The attached markers of events. In each file, each role of markers is handled separately.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include "bpf/event_monitor.h"
#include "core/result.hpp"
#include "daemon/events/event_plan.hpp"
#include "daemon/events/marker_places.hpp"
#include "daemon/events/marker_sites.hpp"
#include "daemon/kernel/libbpf_support.hpp"
#include "daemon/probes/probe_links.hpp"

namespace lagtrap::daemon {

class MonitorPrograms;

class MarkerAttachments {
  public:
    // `programs` must outlive it.
    explicit MarkerAttachments(MonitorPrograms& programs) : programs_(programs) {}
    MarkerAttachments(const MarkerAttachments&) = delete;
    MarkerAttachments& operator=(const MarkerAttachments&) = delete;
    // Detaches all markers.
    ~MarkerAttachments();

    // Attaches all markers of one event or none, because an event with a missing marker would pair
    // wrongly. May be called again after take_links(). Hits are only counted until
    // MonitorPrograms::let_hits_count(), unless `count_runs` is true.
    [[nodiscard]] Status attach(std::uint32_t event, const EventPlan& plan, bool count_runs);
    // Attaches markers of the event in another copy of one of their files, all or none. `copy` is
    // the copy's number, not 0. The event must be attached; hits are handled like those of its
    // other markers. ErrorKind::Unsupported: another Go version built this copy and keeps goroutine
    // numbers at other offsets.
    [[nodiscard]] Status attach_copy(std::uint32_t event, std::uint32_t copy,
                                     const EventPlan& plan);
    // Removes and returns the links in that copy; the caller destroys them, then calls
    // give_back_copy() to free what belonged to them.
    [[nodiscard]] std::vector<Link> take_links_of_copy(std::uint32_t event, std::uint32_t copy);
    void give_back_copy(std::uint32_t event, std::uint32_t copy);
    // Removes and returns the links of one event, including copies; the caller destroys them.
    [[nodiscard]] std::vector<Link> take_links(std::uint32_t event);
    // Keeps only the begin markers attached, including copies: begins are counted, nothing else
    // happens. Returns the other links for the caller to destroy. Not for waits for a CPU.
    [[nodiscard]] std::vector<Link> count_alone(std::uint32_t event);
    // Enables or disables the stages of an event where it is attached now and later. Returns links
    // to destroy.
    [[nodiscard]] Result<std::vector<Link>> watch_stages(std::uint32_t event, bool wanted);
    // Attaches what count_alone() and watch_stages() detached and is wanted again. After an error
    // some of it may be missing.
    [[nodiscard]] Status put_back(std::uint32_t event);
    void detach_all();

    // The plans that the event is attached with, including copies. Thread-safe.
    [[nodiscard]] std::vector<std::shared_ptr<const EventPlan>> plans_of(std::uint32_t event) const;
    // What the kernel does at each attached marker of the event. Thread-safe.
    [[nodiscard]] std::vector<ProbeKind> probe_kinds(std::uint32_t event) const;
    // Where the markers are. The object may outlive this one.
    [[nodiscard]] std::shared_ptr<const MarkerPlaces> marker_places() const {
        return marker_places_;
    }

  private:
    using Links = std::array<std::vector<Link>, 3>;  // by role
    // The markers of an event in one copy, or in all files that it was armed with.
    struct Placed {
        std::shared_ptr<const EventPlan> plan;
        Links links;
    };
    struct Attached {
        std::vector<ProbeKind> kinds;
        Placed main;
        std::shared_ptr<std::vector<Link>> run_queue;  // shared by all such events
        std::map<std::uint32_t, Placed> copies;        // by number of the copy
        bool counted_alone = false;
        // for markers in files, by number
        std::map<std::uint32_t, std::pair<std::uint32_t, std::uint32_t>> go_places;
    };

    // Attaches the roles in `wanted` that have no links in `links`, all or none.
    [[nodiscard]] Status attach_missing(SiteOwner owner, const EventPlan& plan,
                                        const std::array<bool, 3>& wanted, Links& links);
    [[nodiscard]] Result<std::shared_ptr<std::vector<Link>>> share_run_queue();
    [[nodiscard]] std::array<bool, 3> wanted_of(std::uint32_t event);
    void note_go_places(std::uint32_t event, const EventPlan& plan, Attached& attached) const;
    [[nodiscard]] Status check_go_of_copy(std::uint32_t event, const EventPlan& plan);
    static void take_role(Placed& placed, lagtrap_marker_role role, std::vector<Link>& taken);
    static void take_all(Placed& placed, std::vector<Link>& taken);
    [[nodiscard]] static std::vector<Link> take_everything(Placed& main,
                                                           std::map<std::uint32_t, Placed>& copies);
    [[nodiscard]] static std::vector<ProbeKind> kinds_of(const EventPlan& plan);

    MonitorPrograms& programs_;
    const std::shared_ptr<MarkerPlaces> marker_places_ = std::make_shared<MarkerPlaces>();
    mutable std::mutex attached_mutex_;
    std::map<std::uint32_t, Attached> attached_;  // by event
    std::set<std::uint32_t> without_stages_;      // protected by attached_mutex_
    std::weak_ptr<std::vector<Link>> run_queue_;  // protected by attached_mutex_
};

}  // namespace lagtrap::daemon
