// Decodes runs and their stages from track events: slices on tracks, distinguished by category. For
// analysis/ only.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <protozero/data_view.hpp>

#include "analysis/call_decoder.hpp"
#include "analysis/interning.hpp"
#include "analysis/raw_trace.hpp"

namespace lagtrap::analysis {

class RunDecoder {
  public:
    // Processes a TrackEvent message. Throws protozero::exception if it is damaged.
    void take_event(protozero::data_view message, std::uint64_t at_ns, std::uint32_t sequence,
                    const Interning& interning, RawTrace& trace);
    // Moves the runs and call trees into `trace`, by begin.
    void finish(RawTrace& trace);

  private:
    // An open slice: a run (index into runs_), a stage (its index in the run), a call, or a foreign
    // one.
    struct OpenSlice {
        enum class Kind { Other, Run, Stage, Call } kind = Kind::Other;
        std::size_t run = 0;
        std::size_t stage = 0;
        CallDecoder::Place call{};
    };
    struct Event;

    void begin_slice(const Event& event, std::uint64_t at_ns, std::vector<OpenSlice>& open,
                     RawTrace& trace);
    [[nodiscard]] OpenSlice begin_call(const Event& event, std::uint64_t at_ns,
                                       const std::vector<OpenSlice>& open);
    void end_slice(std::uint64_t at_ns, std::vector<OpenSlice>& open, RawTrace& trace);

    CallDecoder calls_;
    std::vector<Run> runs_;
    std::unordered_map<std::uint64_t, std::size_t> run_places_;  // by id
    // by sequence and track
    std::map<std::pair<std::uint32_t, std::uint64_t>, std::vector<OpenSlice>> open_;
};

}  // namespace lagtrap::analysis
