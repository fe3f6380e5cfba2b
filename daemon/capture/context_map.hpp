// The table from which BPF programs know where processes publish the contexts of their threads.
#pragma once

#include <cstdint>
#include <set>

#include "bpf/recorder.h"

struct bpf_map;
struct bpf_program;

namespace lagtrap::daemon {

class ContextPlaces {
  public:
    virtual ~ContextPlaces() = default;
    virtual void set(std::uint32_t pid, const lagtrap_context_place& place) = 0;
    // Forgets all processes but these.
    virtual void keep_only(const std::set<std::uint32_t>& pids) = 0;
    // Records the contexts of threads that sleep now.
    virtual void record_sleeping() = 0;
};

// Thread-safe. All parts belong to loaded programs (bpf/thread_context.bpf.h), which must outlive
// it; `published` is their flag.
class ContextMap : public ContextPlaces {
  public:
    ContextMap(bpf_map* map, bpf_program* sleepers, volatile std::uint32_t* published)
        : map_(map), sleepers_(sleepers), published_(published) {}

    void set(std::uint32_t pid, const lagtrap_context_place& place) override;
    void keep_only(const std::set<std::uint32_t>& pids) override;
    void record_sleeping() override;

  private:
    bpf_map* map_;
    bpf_program* sleepers_;
    volatile std::uint32_t* published_;
};

}  // namespace lagtrap::daemon
