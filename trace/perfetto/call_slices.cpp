#include "trace/perfetto/call_slices.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "trace/perfetto/event_parts.hpp"
#include "trace/perfetto/perfetto_fields.hpp"

namespace lagtrap::trace {
namespace {

using protozero::pbf_writer;

constexpr std::uint64_t call_category = 1;

enum Annotation : std::uint64_t {
    wall_ns = 1,
    own_ns,
    on_cpu_ns,
    runnable_ns,
    blocked_ns,
    module,
    source,
    ended,
    not_kept,
    seen,
    begin_pid,
    begin_tid,
};
constexpr std::array annotation_names{"wall_ns",    "own_ns", "on_cpu_ns", "runnable_ns",
                                      "blocked_ns", "module", "source",    "ended",
                                      "not_kept",   "seen",   "begin_pid", "begin_tid"};

void annotate_text(pbf_writer& event, Annotation name, std::uint64_t text) {
    pbf_writer annotation(event, perfetto::track_event::debug_annotations);
    annotation.add_uint64(perfetto::debug_annotation::name_iid, name);
    annotation.add_uint64(perfetto::debug_annotation::string_value_iid, text);
}

std::string place_of(const calls::Function& function) {
    return function.source.empty() ? "" : function.source + ":" + std::to_string(function.line);
}

}  // namespace

void CallSlices::add_functions(const std::vector<calls::Function>& functions) {
    functions_.insert(functions_.end(), functions.begin(), functions.end());
}

bool CallSlices::add(const calls::Tree& tree, const std::vector<calls::Times>& times,
                     std::uint32_t pid, std::string_view process) {
    if (calls_ + tree.calls.size() > call_slices_limit) return false;
    calls_ += tree.calls.size();
    trees_.push_back(
        {{pid, tree.tid, tree.goroutine, tree.thread, std::string(process)}, tree.calls, times});
    add_edges(static_cast<std::uint32_t>(trees_.size() - 1), tree.began_monotonic_ns);
    return true;
}

// In the order in which slices open and close. Times never decrease, and a call ends before its
// caller's next call begins.
void CallSlices::add_edges(std::uint32_t number, std::uint64_t began_ns) {
    const std::vector<calls::Call>& calls = trees_[number].calls;
    std::vector<std::uint32_t> open;
    std::uint64_t last_ns = began_ns;
    const auto add = [&](std::uint64_t offset_ns, std::uint32_t call, bool begins) {
        last_ns = std::max(last_ns, began_ns + offset_ns);
        edges_.push_back({last_ns, number, call, begins});
    };
    const auto close_down_to = [&](std::uint32_t caller, std::uint64_t until_ns) {
        while (!open.empty() && open.back() != caller) {
            add(std::min(calls[open.back()].end_ns, until_ns), open.back(), false);
            open.pop_back();
        }
    };
    for (std::uint32_t call = 0; call < calls.size(); ++call) {
        close_down_to(calls[call].parent, calls[call].begin_ns);
        add(calls[call].begin_ns, call, true);
        open.push_back(call);
    }
    close_down_to(calls::no_parent, std::numeric_limits<std::uint64_t>::max());
}

void CallSlices::sort() {
    std::stable_sort(edges_.begin(), edges_.end(),
                     [](const Edge& a, const Edge& b) { return a.at_ns < b.at_ns; });
}

std::uint64_t CallSlices::next_due_ns() const {
    return next_ < edges_.size() ? edges_[next_].at_ns : std::numeric_limits<std::uint64_t>::max();
}

void CallSlices::write_due(std::uint64_t at_ns) {
    while (next_ < edges_.size() && edges_[next_].at_ns <= at_ns) write(edges_[next_++]);
}

std::uint64_t CallSlices::text_number(const std::string& text, std::vector<std::string>& fresh) {
    if (text.empty()) return 0;
    const auto [known, is_new] = texts_.try_emplace(text, texts_.size() + 1);
    if (is_new) fresh.push_back(text);
    return known->second;
}

void CallSlices::write_begin(const Edge& edge, std::uint64_t track) {
    const KeptTree& tree = trees_[edge.tree];
    const calls::Call& call = tree.calls[edge.call];
    const calls::Times& times = tree.times[edge.call];
    const calls::Function& function = functions_[call.function];
    std::vector<std::string> fresh;
    const std::uint64_t first_fresh = texts_.size() + 1;
    const std::uint64_t module_text = text_number(function.module, fresh);
    const std::uint64_t source_text = text_number(place_of(function), fresh);
    const std::uint64_t ended_text =
        call.end == calls::CallEnd::Returned ? 0 : text_number(calls::name_of(call.end), fresh);
    const std::uint64_t at_ns = edge.at_ns + boottime_offset_ns_;
    writer_.packet(kind_.sequence, at_ns, UsesInterning::Yes, [&](pbf_writer& packet) {
        const bool is_first = !std::exchange(names_defined_, true);
        const bool is_new_function = named_functions_.insert(call.function).second;
        if (is_first || is_new_function || !fresh.empty()) {
            pbf_writer interned(packet, perfetto::trace_packet::interned_data);
            if (is_first) {
                perfetto::add_interned(interned, perfetto::interned_data::event_categories,
                                       call_category, kind_.category);
                for (std::size_t i = 0; i < annotation_names.size(); ++i)
                    perfetto::add_interned(interned,
                                           perfetto::interned_data::debug_annotation_names, i + 1,
                                           annotation_names[i]);
            }
            if (is_new_function)
                perfetto::add_interned(interned, perfetto::interned_data::event_names,
                                       call.function + 1, function.name);
            for (std::size_t i = 0; i < fresh.size(); ++i)
                perfetto::add_interned(interned,
                                       perfetto::interned_data::debug_annotation_string_values,
                                       first_fresh + i, fresh[i]);
        }
        pbf_writer slice(packet, perfetto::trace_packet::track_event);
        slice.add_uint64(perfetto::track_event::category_iids, call_category);
        slice.add_enum(perfetto::track_event::type, perfetto::track_event::slice_begin);
        slice.add_uint64(perfetto::track_event::name_iid, call.function + 1);
        slice.add_uint64(perfetto::track_event::track_uuid, track);
        perfetto::annotate(slice, wall_ns, times.wall_ns);
        perfetto::annotate(slice, own_ns, times.own_ns);
        if (tree.owner.goroutine == 0) {
            perfetto::annotate(slice, on_cpu_ns, times.on_cpu_ns);
            perfetto::annotate(slice, runnable_ns, times.runnable_ns);
            perfetto::annotate(slice, blocked_ns, times.blocked_ns);
        }
        if (module_text != 0) annotate_text(slice, module, module_text);
        if (source_text != 0) annotate_text(slice, source, source_text);
        if (ended_text != 0) annotate_text(slice, ended, ended_text);
        if (call.left_out != 0) perfetto::annotate(slice, not_kept, call.left_out);
        if (function.seen) perfetto::annotate(slice, seen, 1);
        if (edge.call == 0) {
            perfetto::annotate(slice, begin_pid, tree.owner.pid);
            perfetto::annotate(slice, begin_tid, tree.owner.tid);
        }
    });
}

void CallSlices::write(const Edge& edge) {
    const std::uint64_t at_ns = edge.at_ns + boottime_offset_ns_;
    const std::uint64_t track = tracks_.of(trees_[edge.tree].owner, at_ns);
    if (edge.begins) return write_begin(edge, track);
    writer_.packet(kind_.sequence, at_ns, UsesInterning::Yes, [&](pbf_writer& packet) {
        pbf_writer slice(packet, perfetto::trace_packet::track_event);
        slice.add_enum(perfetto::track_event::type, perfetto::track_event::slice_end);
        slice.add_uint64(perfetto::track_event::track_uuid, track);
    });
}

}  // namespace lagtrap::trace
