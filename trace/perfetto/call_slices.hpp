// Writes call trees as slices of a Perfetto trace: a track next to each thread, and one slice per
// call, with times that exclude probe overhead.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "calls/call_tree.hpp"
#include "trace/perfetto/call_tracks.hpp"
#include "trace/perfetto/packet_writer.hpp"

namespace lagtrap::trace {

inline constexpr std::size_t call_slices_limit = 1'000'000;

// First add all trees, then sort(), then write the slices by time. Times are CLOCK_MONOTONIC, as in
// trees. Not thread-safe.
class CallSlices {
  public:
    // `name` is the name of the tracks. `writer` must outlive this object.
    CallSlices(PacketWriter& writer, std::uint64_t offset_ns, std::string name,
               const SliceKind& kind = call_slices)
        : writer_(writer),
          boottime_offset_ns_(offset_ns),
          kind_(kind),
          tracks_(writer, std::move(name), kind) {}

    // Numbers continue after those of earlier functions.
    void add_functions(const std::vector<calls::Function>& functions);
    [[nodiscard]] const std::vector<calls::Function>& functions() const { return functions_; }
    // Adds a tree that calls::check() accepts, with its net_times(). Returns false, and leaves it
    // out, if there are more than call_slices_limit calls.
    bool add(const calls::Tree& tree, const std::vector<calls::Times>& times, std::uint32_t pid,
             std::string_view process);
    [[nodiscard]] std::size_t trees() const { return trees_.size(); }

    void sort();
    // UINT64_MAX if there are no more.
    [[nodiscard]] std::uint64_t next_due_ns() const;
    // Writes all begins and ends up to `at_ns`, in time order.
    void write_due(std::uint64_t at_ns);

  private:
    struct KeptTree {
        CallOwner owner;
        std::vector<calls::Call> calls;
        std::vector<calls::Times> times;
    };
    struct Edge {
        std::uint64_t at_ns = 0;
        std::uint32_t tree = 0;
        std::uint32_t call = 0;
        bool begins = false;
    };
    void add_edges(std::uint32_t number, std::uint64_t began_ns);
    void write(const Edge& edge);
    void write_begin(const Edge& edge, std::uint64_t track);
    [[nodiscard]] std::uint64_t text_number(const std::string& text,
                                            std::vector<std::string>& fresh);

    PacketWriter& writer_;
    std::uint64_t boottime_offset_ns_;
    const SliceKind kind_;
    std::vector<calls::Function> functions_;
    std::vector<KeptTree> trees_;
    std::vector<Edge> edges_;
    std::size_t next_ = 0, calls_ = 0;
    CallTracks tracks_;
    bool names_defined_ = false;
    std::set<std::uint32_t> named_functions_;
    std::map<std::string, std::uint64_t> texts_;
};

}  // namespace lagtrap::trace
