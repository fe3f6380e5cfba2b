#include "daemon/objects/object_engine.hpp"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <thread>

#include "core/clock.hpp"
#include "daemon/kernel/shared_maps.hpp"
#include "objects.skel.h"

namespace lagtrap::daemon {
namespace {

// The rare probes of exceptions are not counted.
constexpr std::uint32_t no_function = LAGTRAP_OBJECT_FUNCTIONS - 1;

}  // namespace

Result<std::unique_ptr<ObjectEngine>> ObjectEngine::load(const TraceTarget& target,
                                                         const ObjectPlan& plan,
                                                         const UnwindStore& tables) {
    std::unique_ptr<ObjectEngine> self(new ObjectEngine);
    self->programs_ = {objects_bpf::open(), objects_bpf::destroy};
    if (!self->programs_) return libbpf_error("open the programs that follow objects", -errno);
    const auto& all = self->programs_->progs;
    self->programs_->rodata->errno_slot = plan.errno_slot;
    self->programs_->rodata->memory_by_request = plan.memory_by_request ? 1 : 0;
    if (!plan.memory_by_request) bpf_map__set_max_entries(self->programs_->maps.blocks, 1);
    const auto& maps = self->programs_->maps;
    TRY(share_maps({{maps.unwind_regions, tables.regions_fd()},
                    {maps.unwind_tables, tables.tables_fd()},
                    {maps.unwind_processes, tables.processes_fd()}},
                   "share the unwind tables with the programs that follow objects"));
    TRY_ASSIGN(self->session_,
               load_session(*self->programs_, target,
                            {all.on_throw, all.on_catch, all.on_memory_call, all.on_memory_return,
                             all.on_object_jump, all.on_memory_exit},
                            "follow objects", on_record, self.get()));
    TRY_ASSIGN(self->classes_,
               MappedMap::map(bpf_map__fd(maps.classes), sizeof(lagtrap_object_class),
                              LAGTRAP_OBJECT_CLASSES, "counts of objects"));
    TRY(self->session_->follow_threads({all.count_off_cpu}));
    return self;
}

void ObjectEngine::set_room(std::uint64_t calls) {
    __atomic_store_n(&all_totals()->room, static_cast<__s64>(calls), __ATOMIC_RELAXED);
}

void ObjectEngine::set_stack_room(std::uint64_t stacks) {
    __atomic_store_n(&all_totals()->stack_room, static_cast<__s64>(stacks), __ATOMIC_RELAXED);
}

std::optional<lagtrap_object_stack> ObjectEngine::stack(std::uint64_t number) const {
    lagtrap_object_stack found{};
    if (bpf_map_lookup_elem(bpf_map__fd(programs_->maps.stacks), &number, &found) != 0)
        return std::nullopt;
    return found;
}

void ObjectEngine::sweep_stacks() {
    const int map = bpf_map__fd(programs_->maps.stacks);
    std::vector<std::uint64_t> kept;
    std::uint64_t number = 0, next = 0;
    const std::uint64_t* before = nullptr;
    while (kept.size() < LAGTRAP_OBJECT_STACKS && bpf_map_get_next_key(map, before, &next) == 0) {
        number = next;
        before = &number;
        kept.push_back(number);
    }
    if (kept.size() < LAGTRAP_OBJECT_STACKS / 4 * 3) return;
    for (const std::uint64_t one : kept)
        if (const auto known = stack(one); known && known->objects == 0)
            (void)bpf_map_delete_elem(map, &one);
}

// The allocator first, so that what a call allocates is complete for every call that is seen to
// begin.
Result<std::vector<CallProbes::Refused>> ObjectEngine::attach(
    const ObjectPlan& plan, const std::vector<calls::ProbeCost>& costs) {
    watched_ = static_cast<std::uint32_t>(plan.functions.size());
    memory_ = static_cast<std::uint32_t>(plan.memory.size());
    for (std::uint32_t number = 0; number < watched_ + memory_; ++number) {
        if (number < watched_) {
            all()[number] = plan.described[number];
            files_.push_back(plan.functions[number].file);
            class_numbers_.push_back(plan.reported.functions[number].class_number);
        }
        session_->set_cost(number, costs[number]);
    }
    TRY(attach_exceptions(plan));
    TRY(attach_memory(plan));
    return session_->attach(plan.files, plan.functions);
}

Status ObjectEngine::attach_memory(const ObjectPlan& plan) {
    if (plan.memory.empty()) return success();
    MemoryProbes probes = memory_probes(plan, watched_);
    const auto& file = plan.files[plan.memory_file].file;
    const auto& all = programs_->progs;
    TRY(session_->others().attach(all.on_memory_call, file, std::move(probes.entries), false));
    TRY(session_->others().attach(all.on_memory_return, file, std::move(probes.returns), true));
    TRY(session_->others().attach(all.on_memory_exit, file, std::move(probes.exits), false));
    for (auto& [number, jumps] : jump_probes(plan))
        TRY(session_->others().attach(all.on_object_jump, plan.files[number].file, std::move(jumps),
                                      false));
    return success();
}

Status ObjectEngine::attach_exceptions(const ObjectPlan& plan) {
    const auto put = [&](bpf_program* program, const std::vector<CodePlace>& places) -> Status {
        for (const CodePlace& place : places) {
            std::vector<CallProbe> one{{place.offset, no_function, {no_function}}};
            TRY(session_->others().attach(program, plan.files[place.file].file, std::move(one),
                                          false));
        }
        return success();
    };
    TRY(put(programs_->progs.on_throw, plan.throws));
    return put(programs_->progs.on_catch, plan.catches);
}

Status ObjectEngine::detach_functions(const std::set<std::uint32_t>& functions) {
    const std::set<std::uint32_t> watched(functions.begin(), functions.lower_bound(watched_));
    std::set<std::uint32_t> also = watched;  // their jumps to the allocator
    if (!memory_is_out_ && watched.size() < functions.size()) {
        memory_is_out_ = true;
        __atomic_store_n(&all_totals()->memory_is_out, 1, __ATOMIC_RELAXED);
        for (std::uint32_t at = 0; at < memory_; ++at) also.insert(watched_ + at);
    }
    return session_->detach_functions(watched, also);
}

int ObjectEngine::on_record(void* self, void* data, std::size_t bytes) {
    auto* const engine = static_cast<ObjectEngine*>(self);
    if (bytes == sizeof(lagtrap_object_call)) {
        lagtrap_object_call call{};
        std::memcpy(&call, data, sizeof call);
        engine->take_call(call, nullptr);
    } else if (bytes == sizeof(lagtrap_object_call_texts)) {
        lagtrap_object_call_texts texts{};
        std::memcpy(&texts, data, sizeof texts);
        engine->take_call(texts.call, &texts);
    } else if (bytes == sizeof(lagtrap_object_message)) {
        lagtrap_object_message message{};
        std::memcpy(&message, data, sizeof message);
        if (message.function < engine->watched_)
            add_message(engine->taken_, message, engine->speak_of_one(), engine->texts_);
    }
    return 0;
}

SpeakOfOne ObjectEngine::speak_of_one() const {
    return [this](std::uint32_t failed, std::uint32_t reported) {
        return files_[failed] == files_[reported] ||
               class_numbers_[failed] == class_numbers_[reported];
    };
}

void ObjectEngine::take_call(const lagtrap_object_call& record,
                             const lagtrap_object_call_texts* texts) {
    if (record.function < watched_)
        taken_.calls.push_back(object_call_of(record, texts, texts_,
                                              static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE))));
}

ObjectEngine::Taken ObjectEngine::take(std::chrono::milliseconds wait) {
    std::this_thread::sleep_for(wait);
    session_->take_arrived_records();
    return std::exchange(taken_, {});
}

std::vector<calls::ObjectFunctionTotals> ObjectEngine::totals_of_functions() const {
    std::vector<calls::ObjectFunctionTotals> totals;
    for (std::uint32_t number = 0; number < watched_; ++number) {
        const lagtrap_object_function one = all()[number];
        if (one.calls != 0) totals.push_back({number, one.calls, one.failures, one.elapsed_ns});
    }
    return totals;
}

namespace {

template <typename Take>
void for_each_alive(int map, const Take& take) {
    lagtrap_object_key key{}, next{};
    const lagtrap_object_key* before = nullptr;
    // If a key is removed meanwhile, the kernel starts again from the first. So limit the loop to
    // twice the number of possible objects.
    for (std::uint32_t looked = 0;
         looked < 2 * LAGTRAP_OBJECTS_ALIVE && bpf_map_get_next_key(map, before, &next) == 0;
         ++looked) {
        key = next;
        before = &key;
        lagtrap_object_alive one{};
        if (bpf_map_lookup_elem(map, &key, &one) == 0 && one.open == 0) take(key, one);
    }
}

}  // namespace

std::vector<calls::ClassCounts> ObjectEngine::counts(std::size_t classes) const {
    std::vector<calls::ClassCounts> counts;
    const auto* const known = static_cast<const lagtrap_object_class*>(classes_.at);
    for (std::size_t number = 0; number < std::min<std::size_t>(classes, LAGTRAP_OBJECT_CLASSES);
         ++number) {
        const lagtrap_object_class one = known[number];
        counts.push_back(class_counts_of(one));
    }
    return counts;
}

std::vector<ObjectEngine::Old> ObjectEngine::oldest(std::size_t most) const {
    OldestObjects oldest(most, monotonic_ns(), texts_);
    for_each_alive(bpf_map__fd(programs_->maps.alive),
                   [&](const lagtrap_object_key& key, const lagtrap_object_alive& one) {
                       oldest.add(key, one);
                   });
    return oldest.take();
}

lagtrap_object_totals ObjectEngine::totals() const { return *all_totals(); }

}  // namespace lagtrap::daemon
