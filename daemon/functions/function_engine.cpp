#include "daemon/functions/function_engine.hpp"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "core/clock.hpp"
#include "daemon/functions/function_records.hpp"
#include "functions.skel.h"

namespace lagtrap::daemon {

Result<std::unique_ptr<FunctionEngine>> FunctionEngine::load(const TraceTarget& target,
                                                             bool runtimes) {
    std::unique_ptr<FunctionEngine> self(new FunctionEngine);
    self->programs_ = {functions_bpf::open(), functions_bpf::destroy};
    if (!self->programs_) return libbpf_error("open the programs that trace functions", -errno);
    const auto& all = self->programs_->progs;
    if (!runtimes) (void)bpf_map__set_max_entries(self->programs_->maps.runtime_names, 1);
    TRY_ASSIGN(self->session_,
               load_session(*self->programs_, target, {all.on_runtime_entry, all.on_runtime_return},
                            "trace functions", on_call, self.get()));
    TRY(self->session_->follow_threads({all.count_off_cpu}));
    return self;
}

int FunctionEngine::on_call(void* self, void* data, std::size_t bytes) {
    auto* const engine = static_cast<FunctionEngine*>(self);
    lagtrap_runtime_function named{};
    if (bytes >= sizeof named) {
        std::memcpy(&named, data, sizeof named);
        if (named.site < engine->runtime_sites_.size() && named.number < LAGTRAP_TRACED_FUNCTIONS)
            engine->named_.push_back({named, engine->runtime_sites_[named.site].first,
                                      engine->runtime_sites_[named.site].second});
        return 0;
    }
    if (auto call = traced_call_of(data, bytes, engine->count()))
        engine->calls_.push_back(std::move(*call));
    return 0;
}

std::vector<calls::TracedCall> FunctionEngine::take_calls(std::chrono::milliseconds wait) {
    session_->take_records(wait);
    return std::exchange(calls_, {});
}

std::uint32_t FunctionEngine::count() const {
    return std::min<std::uint32_t>(
        std::max(session_->probes().functions(), all_totals()->next_number),
        LAGTRAP_TRACED_FUNCTIONS);
}

// Exits first, as in FunctionProbes.
Status FunctionEngine::put_in(const PlannedRuntime& runtime, bool at_end) {
    const std::uint64_t epoch = all_totals()->runtime_epoch;
    std::vector<CallProbe> probes;
    for (const RuntimeProbe& one : runtime.probes)
        if (one.at_end == at_end)
            probes.push_back(
                {one.offset, epoch << 32 | one.site.number, {one.site.number}, one.semaphore});
    bpf_program* const program =
        at_end ? programs_->progs.on_runtime_return : programs_->progs.on_runtime_entry;
    TRY_ASSIGN(const auto refused,
               session_->others().attach(program, runtime_files_[runtime.file].file,
                                         std::move(probes), false));
    return refused.empty() ? success()
                           : Status(make_error(ErrorKind::Unsupported, refused.front().reason));
}

Status FunctionEngine::put_all_in() {
    for (const PlannedRuntime& runtime : runtimes_)
        for (const bool at_end : {true, false}) TRY(put_in(runtime, at_end));
    return success();
}

Status FunctionEngine::watch_runtimes(bool watch) {
    Status done = watch ? put_all_in() : success();
    if (watch && done) return done;
    __atomic_fetch_add(&all_totals()->runtime_epoch, 1, __ATOMIC_RELAXED);
    session_->others().detach_soon();
    return done;
}

Status FunctionEngine::attach_runtimes(const std::vector<CallFile>& files,
                                       std::vector<PlannedRuntime> runtimes,
                                       const calls::ProbeCost& cost) {
    __atomic_store_n(&all_totals()->next_number, session_->probes().functions(), __ATOMIC_RELAXED);
    runtime_files_ = files;
    runtimes_ = std::move(runtimes);
    const int map = bpf_map__fd(programs_->maps.runtime_sites);
    for (PlannedRuntime& runtime : runtimes_)
        for (RuntimeProbe& probe : runtime.probes) {
            const auto number = static_cast<std::uint32_t>(runtime_sites_.size());
            probe.site.number = number;
            probe.site.inside_ns = cost.inside_ns;
            probe.site.around_ns = cost.around_ns;
            runtime_sites_.emplace_back(runtime.runtime,
                                        (probe.site.flags & LAGTRAP_RUNTIME_IN_C) != 0);
            if (bpf_map_update_elem(map, &number, &probe.site, BPF_ANY) != 0)
                return system_error("register a runtime probe");
        }
    return watch_runtimes(true);
}

std::uint64_t FunctionEngine::hits_of(std::uint32_t function) const {
    return function < count() ? __atomic_load_n(&all()[function].probes.hits, __ATOMIC_RELAXED) : 0;
}

std::vector<calls::FunctionTotals> FunctionEngine::functions() const {
    std::vector<calls::FunctionTotals> totals;
    for (std::uint32_t number = 0; number < count(); ++number) {
        const lagtrap_traced_function function = all()[number];
        if (auto one = totals_of(function, number, count())) totals.push_back(std::move(*one));
    }
    return totals;
}

void FunctionEngine::forget_longest() {
    for (std::uint32_t number = 0; number < count(); ++number)
        __atomic_store_n(&all()[number].longest_ns, 0, __ATOMIC_RELAXED);
}

lagtrap_traced_totals FunctionEngine::totals() const { return *all_totals(); }

}  // namespace lagtrap::daemon
