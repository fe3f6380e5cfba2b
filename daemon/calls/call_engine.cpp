#include "daemon/calls/call_engine.hpp"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include <algorithm>
#include <cstring>
#include <map>

#include <fmt/core.h>

#include "calls.skel.h"
#include "core/clock.hpp"
#include "daemon/events/goroutine_looks.hpp"
#include "daemon/probes/exit_cookies.hpp"

namespace lagtrap::daemon {
namespace {

// End of a call whose own end was not seen.
struct Moment {
    std::uint64_t at_ns = 0, on_cpu_ns = 0, runnable_ns = 0;
};

Moment begin_of(const lagtrap_call_node& node) {
    return {node.begin_ns, node.begin_on_cpu_ns, node.begin_runnable_ns};
}

Moment end_of(const lagtrap_call_node& node) {
    return {node.end_ns, node.end_on_cpu_ns, node.end_runnable_ns};
}

calls::CallEnd kind_of_end(const lagtrap_call_node& node) {
    switch (node.end) {
        case LAGTRAP_CALL_RETURNED: return calls::CallEnd::Returned;
        case LAGTRAP_CALL_TAIL: return calls::CallEnd::TailCall;
        case LAGTRAP_CALL_THREAD_END: return calls::CallEnd::ThreadEnd;
        default: return calls::CallEnd::Left;
    }
}

// End of each call.
std::vector<Moment> ends_of(const lagtrap_call_tree& header, const lagtrap_call_node* nodes,
                            std::size_t count) {
    std::vector<Moment> ends(count);
    for (std::size_t number = 0; number < count; ++number) ends[number] = end_of(nodes[number]);
    if (ends[0].at_ns == 0) {
        // The time split after the last event is unknown; the rest counts as blocked.
        const lagtrap_call_node& last = nodes[count - 1];
        const Moment latest = last.end_ns != 0 ? end_of(last) : begin_of(last);
        ends[0] = {std::max<std::uint64_t>(header.end_ns, latest.at_ns), latest.on_cpu_ns,
                   latest.runnable_ns};
        for (std::size_t number = 0; number < count; ++number)
            if (nodes[number].end_ns != 0 && nodes[number].end_on_cpu_ns > ends[0].on_cpu_ns)
                ends[0] = {ends[0].at_ns, nodes[number].end_on_cpu_ns,
                           nodes[number].end_runnable_ns};
    }
    // Nodes are ordered by start time. `path` has the open calls from the root to the current node.
    std::vector<std::size_t> path;
    for (std::size_t number = 0; number < count; ++number) {
        while (!path.empty() && path.back() != nodes[number].parent) {
            if (ends[path.back()].at_ns == 0) ends[path.back()] = begin_of(nodes[number]);
            path.pop_back();
        }
        path.push_back(number);
    }
    for (std::size_t number = 1; number < count; ++number)
        if (const Moment& callers = ends[nodes[number].parent];
            ends[number].at_ns == 0 || ends[number].at_ns > callers.at_ns)
            ends[number] = callers;
    return ends;
}

std::uint64_t difference(std::uint64_t later, std::uint64_t earlier) {
    return later - std::min(later, earlier);
}

}  // namespace

calls::Tree tree_of(const lagtrap_call_tree& header, const lagtrap_call_node* nodes,
                    std::size_t count) {
    calls::Tree tree;
    tree.tid = header.tid;
    tree.goroutine = header.goroutine;
    tree.thread.assign(header.comm, ::strnlen(header.comm, sizeof header.comm));
    if (count == 0) return tree;
    const std::uint64_t root_ns = nodes[0].begin_ns;
    for (std::size_t number = 1; number < count; ++number)
        if (nodes[number].parent >= number) return tree;
    const std::vector<Moment> ends = ends_of(header, nodes, count);
    tree.calls.reserve(count);
    for (std::size_t number = 0; number < count; ++number) {
        const lagtrap_call_node& node = nodes[number];
        calls::Call call;
        call.function = node.function;
        call.parent = number == 0 ? calls::no_parent : node.parent;
        call.begin_ns = difference(node.begin_ns, root_ns);
        call.end_ns = std::max(call.begin_ns, difference(ends[number].at_ns, root_ns));
        const std::uint64_t wall_ns = call.end_ns - call.begin_ns;
        call.on_cpu_ns =
            std::min(wall_ns, difference(ends[number].on_cpu_ns, node.begin_on_cpu_ns));
        call.runnable_ns = std::min(wall_ns - call.on_cpu_ns,
                                    difference(ends[number].runnable_ns, node.begin_runnable_ns));
        call.left_out = node.left_out;
        call.left_out_cost_ns = node.left_out_cost_ns;
        call.end = kind_of_end(node);
        tree.calls.push_back(call);
    }
    return tree;
}

Status CallEngine::map_all() {
    const auto& maps = programs_->maps;
    TRY_ASSIGN(trees_, MappedMap::map(bpf_map__fd(maps.trees), sizeof(lagtrap_call_tree),
                                      LAGTRAP_CALL_TREES, "trees"));
    TRY_ASSIGN(nodes_,
               MappedMap::map(bpf_map__fd(maps.nodes), sizeof(lagtrap_call_node),
                              std::size_t{LAGTRAP_CALL_TREES} * LAGTRAP_CALL_NODES, "calls"));
    return success();
}

Result<std::unique_ptr<CallEngine>> CallEngine::load(const TraceTarget& target,
                                                     std::chrono::nanoseconds least,
                                                     const GoPlace& go) {
    std::unique_ptr<CallEngine> self(new CallEngine);
    self->programs_ = {calls_bpf::open(), calls_bpf::destroy};
    if (!self->programs_) return libbpf_error("open the programs that record calls", -errno);
    self->pid_ = target.pid;
    self->go_ = go;
    auto& programs = self->programs_->progs;
    const bool of_go = go.goid_offset != 0;
    for (bpf_program* program :
         {programs.on_go_call, programs.on_go_exit, programs.on_go_indirect_call})
        bpf_program__set_autoload(program, of_go);
    for (bpf_program* program :
         {programs.on_call, programs.on_call_exit, programs.on_indirect_call})
        bpf_program__set_autoload(program, !of_go);
    if (of_go) {  // the session attaches them in place of the others
        programs.on_call = programs.on_go_call;
        programs.on_call_exit = programs.on_go_exit;
    }
    self->programs_->rodata->goid_offset = go.goid_offset;
    TRY_ASSIGN(self->session_,
               load_session(*self->programs_, target,
                            {programs.on_indirect_call, programs.on_go_indirect_call},
                            "record calls", on_done, self.get()));
    self->session_->set_min_duration(least);
    TRY(self->map_all());
    if (!of_go)
        TRY(self->session_->follow_threads({programs.count_switch, programs.count_waking,
                                            programs.on_exit_of_thread,
                                            programs.on_exec_of_thread}));
    return self;
}

Status CallEngine::look_at_indirect(const std::vector<CallFile>& files,
                                    const std::vector<PlannedFunction>& functions,
                                    const std::set<std::uint32_t>& left_out,
                                    std::uint64_t cost_ns) {
    session_->totals<lagtrap_call_totals>()->indirect_cost_ns = cost_ns;
    // by offset: functions can share code
    std::map<std::uint32_t, std::map<std::uint64_t, CallProbe>> by_file;
    std::uint32_t sites = 0;
    for (std::uint32_t number = 0; number < functions.size(); ++number) {
        if (left_out.contains(number)) continue;
        for (const binaries::IndirectCall& call : functions[number].indirect) {
            if (sites >= LAGTRAP_INDIRECT_SITES) break;
            const lagtrap_indirect_site site{target_argument(call.target), number, 0};
            if (bpf_map_update_elem(bpf_map__fd(programs_->maps.indirect_sites), &sites, &site,
                                    BPF_ANY) != 0)
                return system_error("register an indirect call target");
            by_file[functions[number].file].try_emplace(
                call.file_offset, CallProbe{call.file_offset, sites++, {number}});
        }
    }
    bpf_program* const look = go_.goid_offset != 0 ? programs_->progs.on_go_indirect_call
                                                   : programs_->progs.on_indirect_call;
    for (auto& [file, places] : by_file) {
        std::vector<CallProbe> probes;
        for (auto& [offset, probe] : places) probes.push_back(std::move(probe));
        // Skip probes that the kernel refuses.
        TRY_ASSIGN(const auto refused,
                   session_->others().attach(look, files[file].file, std::move(probes), false));
        (void)refused;
    }
    return success();
}

std::vector<CallEngine::Seen> CallEngine::take_seen() {
    session_->others().detach_soon();
    const int map = bpf_map__fd(programs_->maps.seen_targets);
    std::vector<Seen> all;
    std::uint64_t address = 0;
    for (const void* before = nullptr; bpf_map_get_next_key(map, before, &address) == 0;
         before = &address) {
        lagtrap_seen seen{};
        if (bpf_map_lookup_elem(map, &address, &seen) == 0) all.push_back({address, seen.function});
    }
    for (const Seen& one : all) (void)bpf_map_delete_elem(map, &one.address);
    return all;
}

int CallEngine::on_done(void* self, void* data, std::size_t bytes) {
    std::uint32_t tree = 0;
    if (bytes < sizeof tree) return 0;
    std::memcpy(&tree, data, sizeof tree);
    static_cast<CallEngine*>(self)->note_done(tree);
    return 0;
}

void CallEngine::note_done(std::uint32_t number) {
    if (number >= LAGTRAP_CALL_TREES) return;
    lagtrap_call_tree& header = static_cast<lagtrap_call_tree*>(trees_.at)[number];
    const auto* nodes =
        static_cast<const lagtrap_call_node*>(nodes_.at) + std::size_t{number} * LAGTRAP_CALL_NODES;
    const std::size_t count = std::min<std::size_t>(header.nodes, LAGTRAP_CALL_NODES);
    calls::Tree tree = tree_of(header, nodes, count);
    const auto clock = ClockSnapshot::take();
    if (count != 0) {
        tree.began_monotonic_ns = nodes[0].begin_ns;
        tree.began_realtime_ns = clock.realtime_ns - (clock.monotonic_ns - nodes[0].begin_ns);
    }
    __atomic_store_n(&header.state, LAGTRAP_TREE_FREE, __ATOMIC_RELEASE);
    if (calls::check(tree, session_->probes().functions())) {
        // If the exit jumps themselves are probed, a call that starts in place of one whose end was
        // not seen is not a tail call.
        for (calls::Call& call : tree.calls)
            if (call.end == calls::CallEnd::TailCall &&
                !session_->probes().has_return_probe(call.function))
                call.end = calls::CallEnd::Left;
        done_.push_back(std::move(tree));
    } else {
        ++malformed_;
    }
}

std::vector<calls::Tree> CallEngine::take_trees(std::chrono::milliseconds wait) {
    session_->take_records(wait);
    return std::exchange(done_, {});
}

// A goroutine number is never reused, so nobody writes to the tree any more.
void CallEngine::end_trees_of_gone() {
    if (go_.goid_offset == 0) return;
    auto* const trees = static_cast<lagtrap_call_tree*>(trees_.at);
    auto* const nodes = static_cast<lagtrap_call_node*>(nodes_.at);
    for (std::uint32_t number = 0; number < LAGTRAP_CALL_TREES; ++number) {
        lagtrap_call_tree& tree = trees[number];
        if (__atomic_load_n(&tree.state, __ATOMIC_ACQUIRE) != LAGTRAP_TREE_OPEN ||
            tree.goroutine == 0)
            continue;
        const GoroutineFrame frame{.pid = static_cast<std::uint32_t>(pid_),
                                   .goroutine = tree.goroutine_address,
                                   .number = tree.goroutine,
                                   .number_offset = go_.goid_offset,
                                   .frame_offset = go_.frame_offset};
        // The state arrives in time for a later call, if finding it takes longer than this one.
        if (known_state(frame, 0, GoroutineLooks::Asked::Goroutine, GoroutineLooks::Age::Any) !=
            FrameState::Gone)
            continue;
        const __u64 key = tree.goroutine;
        // The goroutine's tree may have ended by itself meanwhile.
        if (bpf_map_delete_elem(bpf_map__fd(programs_->maps.goroutines), &key) != 0) continue;
        __atomic_fetch_sub(&programs_->bss->open_trees, 1, __ATOMIC_RELAXED);
        nodes[std::size_t{number} * LAGTRAP_CALL_NODES].end = LAGTRAP_CALL_THREAD_END;
        note_done(number);
    }
}

lagtrap_call_totals CallEngine::totals() const {
    lagtrap_call_totals totals = *session_->totals<lagtrap_call_totals>();
    totals.lost += malformed_;
    return totals;
}

}  // namespace lagtrap::daemon
