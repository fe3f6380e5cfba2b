// The listener's BPF programs in the kernel: opened, configured, loaded, attached in phases, each with errors of its own.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "bpf/listener.h"
#include "core/result.hpp"
#include "daemon/libbpf_support.hpp"
#include "daemon/marker_sites.hpp"
#include "daemon/overhead_probes.hpp"
#include "daemon/probe_places.hpp"
#include "settings/settings.hpp"
#include "settings/tracefs.hpp"

struct bpf_program;
struct listener_bpf;

namespace lagtrap::daemon {

// Counters of one event, added up over the CPUs. The same fields in the same order as lagtrap_event_counters.
struct EventCounters {
    std::uint64_t delays = 0, told_delays = 0;
    std::uint64_t abandoned = 0, lost = 0, expired = 0, unended_late = 0, withdrawn = 0, too_deep = 0, records_lost = 0;
    std::uint64_t out_of_scope = 0, stack_ns = 0;
    std::uint64_t max_ns = 0;
    std::array<std::uint64_t, LAGTRAP_HISTOGRAM_BUCKETS> histogram{};
    std::array<std::uint64_t, LAGTRAP_COST_BUCKETS> costs{};
    std::array<lagtrap_marker_count, LAGTRAP_PLACES> markers{};

    void add(const EventCounters& other);
    // Runs begun and ended.
    [[nodiscard]] std::uint64_t runs() const;
    // Of all markers.
    [[nodiscard]] std::uint64_t hits() const;
    [[nodiscard]] const lagtrap_marker_count& begins() const { return markers[LAGTRAP_PLACE_BEGIN]; }
    [[nodiscard]] const lagtrap_marker_count& ends() const { return markers[LAGTRAP_PLACE_END]; }
    [[nodiscard]] std::uint64_t unmatched_stages() const;
};

// What was told of the runs of an event with record="runs".
struct RunCounters {
    std::uint64_t reported = 0;
    std::uint64_t sampled_away = 0;  // others stand for them
    std::uint64_t ring_full = 0;     // the same, for want of room
    std::uint64_t stacks_lost = 0;

    void add(const RunCounters& other);
};

class UnwindStore;

class ListenerPrograms {
  public:
    // Loads the programs for these events; nothing is attached yet. Events keep their index. Stacks at markers are
    // walked by what `store` holds.
    [[nodiscard]] static Result<std::unique_ptr<ListenerPrograms>> load(const std::vector<settings::Event>& events,
                                                                        const settings::Runs& runs,
                                                                        const UnwindStore& store);
    ~ListenerPrograms();

    // All events will be attached one after the other, up to forget_places(): what is asked of a file is read once.
    void expect_all();
    void forget_places() { planner_ = {}; }
    // Attaches every marker of one event, or none of them: an event with a marker missing would pair nonsense.
    // May be called again after take_links().
    [[nodiscard]] Status attach(std::uint32_t event);
    // The attachments of one event, to be destroyed.
    [[nodiscard]] std::vector<Link> take_links(std::uint32_t event);
    // What the kernel does at each marker of the event, as attached. May be called from any thread.
    [[nodiscard]] std::vector<ProbeKind> probe_kinds(std::uint32_t event) const;
    // Whether stacks are taken at the markers of an event that has stacks="markers".
    [[nodiscard]] Status take_stacks(std::uint32_t event, bool wanted);
    // Whether hits of the event's markers do anything but count: all its markers at the same moment, while their probes come
    // and go one by one.
    [[nodiscard]] Status let_hits_count(std::uint32_t event, bool wanted);
    // Whether the event's keys are goroutines, as attached. May be called from any thread.
    [[nodiscard]] bool pairs_by_goroutine(std::uint32_t event) const;
    void detach_all();

    // Shared with the running programs; fields are to be read and written with __atomic operations.
    [[nodiscard]] lagtrap_watch* watch() const;
    [[nodiscard]] int tags_fd() const;
    // When each process last became another program (CLOCK_MONOTONIC), by its number.
    [[nodiscard]] int program_starts_fd() const;
    [[nodiscard]] int slots_fd() const;
    [[nodiscard]] int notices_fd() const;
    [[nodiscard]] int recorded_runs_fd() const;
    [[nodiscard]] int reported_runs_fd() const;
    [[nodiscard]] int run_quotas_fd() const;
    // May be called from any thread.
    [[nodiscard]] Result<EventCounters> counters(std::uint32_t event) const;
    [[nodiscard]] Result<RunCounters> run_counters(std::uint32_t event) const;
    [[nodiscard]] std::vector<int> program_fds() const;

  private:
    explicit ListenerPrograms(const std::vector<settings::Event>& events);
    void leave_out_unused();
    [[nodiscard]] Status size_maps(const UnwindStore& store);
    [[nodiscard]] Status configure_event(std::uint32_t event, const settings::Runs& runs);
    struct MarkerNumber {
        std::uint32_t id = 0;
        WantedArguments arguments;  // of a USDT probe
    };
    [[nodiscard]] Result<MarkerNumber> configure_marker(std::uint32_t event, const settings::Marker& marker,
                                                        lagtrap_marker_role role, std::uint16_t stage);
    // Whether goroutines are its keys: its markers are functions of Go, and no value is.
    [[nodiscard]] Result<bool> is_keyed_by_goroutine(const settings::Event& event);
    // With the function's name in errors.
    [[nodiscard]] Result<ProbePlaces> places_of_function(const settings::Marker& marker);
    [[nodiscard]] Status attach_marker(std::uint32_t event, const settings::Marker& marker, const MarkerNumber& number,
                                       std::vector<Link>& links);
    [[nodiscard]] Status attach_usdt(std::uint32_t event, const settings::Marker& marker, const MarkerNumber& number,
                                     std::vector<Link>& links);
    [[nodiscard]] Status attach_function(std::uint32_t event, const settings::Marker& marker,
                                         const MarkerNumber& number, std::vector<Link>& links);
    // What the programs are told at each place: the marker and, where arguments are wanted, where they are.
    [[nodiscard]] Result<std::vector<std::uint64_t>> cookies_of(std::uint32_t event, std::uint32_t marker_id,
                                                                const ProbePlaces& places);
    [[nodiscard]] Status attach_places(bpf_program* program, const std::string& binary, const ProbePlaces& places,
                                       const std::vector<std::uint64_t>& cookies, std::vector<Link>& links);
    [[nodiscard]] Status attach_tracepoint(const settings::Marker& marker, std::uint32_t marker_id,
                                           std::vector<Link>& links);
    [[nodiscard]] Status point_at_field(const settings::Marker& marker, const settings::ArgumentRef& field,
                                        std::uint16_t& offset, std::uint16_t& bytes);
    [[nodiscard]] Result<settings::TraceFs*> tracefs();
    [[nodiscard]] Status change_flag(std::uint32_t event, std::uint32_t flag, bool wanted);

    std::vector<settings::Event> events_;
    listener_bpf* programs_ = nullptr;
    Link exec_link_;
    std::uint32_t next_marker_ = 0;
    MarkerSites<lagtrap_site> argument_sites_{LAGTRAP_MAX_SITES, "arguments"};
    MarkerSites<lagtrap_exit_site> exit_sites_{LAGTRAP_MAX_EXIT_SITES, "indirect jumps"};
    ProbePlanner planner_;
    struct Attached {
        std::uint32_t first_marker = 0;
        std::vector<ProbeKind> kinds;
        std::vector<Link> links;
    };
    mutable std::mutex attached_mutex_;
    std::map<std::uint32_t, Attached> attached_;  // by event
    std::vector<ProbeKind> kinds_;                // of the event that is being attached
    std::unique_ptr<settings::TraceFs> tracefs_;
};

}  // namespace lagtrap::daemon
