// The listener's BPF programs in the kernel: opened, configured, loaded, attached in phases, each with errors of its own.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "bpf/listener.h"
#include "core/result.hpp"
#include "daemon/libbpf_support.hpp"
#include "daemon/tracefs.hpp"
#include "settings/settings.hpp"

struct bpf_program;
struct listener_bpf;

namespace lagtrap::daemon {

// Counters of one event, added up over the CPUs.
struct EventCounters {
    std::uint64_t delays = 0;
    std::uint64_t unmatched_begins = 0, unmatched_ends = 0, unmatched_stages = 0;
    std::uint64_t abandoned = 0, lost = 0, too_deep = 0, records_lost = 0;
    std::uint64_t max_ns = 0;
    std::array<std::uint64_t, LAGTRAP_HISTOGRAM_BUCKETS> histogram{};

    void add(const EventCounters& other);
    // Runs begun and ended.
    [[nodiscard]] std::uint64_t runs() const;
};

class ListenerPrograms {
  public:
    // Loads the programs for these events; nothing is attached yet. Events keep their index.
    [[nodiscard]] static Result<std::unique_ptr<ListenerPrograms>> load(const std::vector<settings::Event>& events);
    ~ListenerPrograms();

    // Attaches every marker of one event, or none of them: an event with a marker missing would pair nonsense.
    [[nodiscard]] Status attach(std::uint32_t event);
    void detach_all();

    // Shared with the running programs; fields are to be read and written with __atomic operations.
    [[nodiscard]] lagtrap_watch* watch() const;
    [[nodiscard]] int tags_fd() const;
    [[nodiscard]] int slots_fd() const;
    [[nodiscard]] int notices_fd() const;
    [[nodiscard]] int recorded_runs_fd() const;
    // May be called from any thread.
    [[nodiscard]] Result<EventCounters> counters(std::uint32_t event) const;
    [[nodiscard]] std::vector<int> program_fds() const;

  private:
    explicit ListenerPrograms(const std::vector<settings::Event>& events);
    [[nodiscard]] Status configure_event(std::uint32_t event);
    struct MarkerNumber {
        std::uint32_t id = 0;
        bool takes_arguments = false;
    };
    struct ProbePlaces;
    [[nodiscard]] Result<MarkerNumber> configure_marker(std::uint32_t event, const settings::Marker& marker,
                                                        lagtrap_marker_role role, std::uint16_t stage);
    [[nodiscard]] Status attach_marker(const settings::Marker& marker, MarkerNumber number, std::vector<Link>& links);
    [[nodiscard]] Status attach_usdt(const settings::Marker& marker, MarkerNumber number, std::vector<Link>& links);
    [[nodiscard]] Status attach_function(const settings::Marker& marker, std::uint32_t marker_id,
                                         std::vector<Link>& links);
    [[nodiscard]] static Result<ProbePlaces> function_places(const settings::Marker& marker);
    [[nodiscard]] static Result<ProbePlaces> usdt_places(const settings::Marker& marker);
    [[nodiscard]] static Status attach_places(bpf_program* program, const std::string& binary,
                                              const ProbePlaces& places, std::uint32_t marker_id,
                                              std::vector<Link>& links);
    [[nodiscard]] Status attach_tracepoint(const settings::Marker& marker, std::uint32_t marker_id,
                                           std::vector<Link>& links);
    [[nodiscard]] Status point_at_field(const settings::Marker& marker, const settings::ArgumentRef& field,
                                        std::uint16_t& offset, std::uint16_t& bytes);
    [[nodiscard]] Result<TraceFs*> tracefs();

    std::vector<settings::Event> events_;
    listener_bpf* programs_ = nullptr;
    std::uint32_t next_marker_ = 0;
    std::vector<Link> links_;
    std::unique_ptr<TraceFs> tracefs_;
};

}  // namespace lagtrap::daemon
