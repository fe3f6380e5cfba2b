#include "daemon/objects/object_engine.hpp"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <thread>

#include <fmt/core.h>

#include "binaries/elf/program_file.hpp"
#include "core/clock.hpp"
#include "core/text.hpp"
#include "daemon/kernel/shared_maps.hpp"
#include "daemon/probes/exit_cookies.hpp"
#include "objects.skel.h"

namespace lagtrap::daemon {
namespace {

// The rare probes of exceptions are not counted.
constexpr std::uint32_t no_function = LAGTRAP_OBJECT_FUNCTIONS - 1;

template <std::size_t bytes>
std::string text_of(const char (&text)[bytes]) {
    return printable(std::string_view(text, ::strnlen(text, bytes)));
}

// For example "std::runtime_error: no such page".
std::string thrown_text(const lagtrap_object_call_texts& texts) {
    std::string type = text_of(texts.thrown_type);
    if (type.starts_with('*')) type.erase(0, 1);
    if (type.empty()) return {};
    // The type name lacks the prefix of a symbol.
    std::string name = binaries::demangle("_ZTS" + type);
    constexpr std::string_view prefix = "typeinfo name for ";
    name = name.starts_with(prefix) ? name.substr(prefix.size()) : type;
    const std::string text = text_of(texts.thrown_text);
    return text.empty() ? name : name + ": " + text;
}

}  // namespace

Result<std::unique_ptr<ObjectEngine>> ObjectEngine::load(const TraceTarget& target,
                                                         const ObjectPlan& plan,
                                                         const UnwindStore& tables) {
    std::unique_ptr<ObjectEngine> self(new ObjectEngine);
    self->programs_ = {objects_bpf__open(), objects_bpf__destroy};
    if (!self->programs_) return libbpf_error("open the programs that follow objects", -errno);
    const auto& all = self->programs_->progs;
    expect_uprobes({all.on_object_call, all.on_object_exit, all.on_object_return, all.on_throw,
                    all.on_catch, all.on_memory_call, all.on_memory_return, all.on_object_jump,
                    all.on_memory_exit});
    set_target(*self->programs_->rodata, target);
    self->programs_->rodata->errno_slot = plan.errno_slot;
    self->programs_->rodata->memory_by_request = plan.memory_by_request ? 1 : 0;
    if (!plan.memory_by_request) bpf_map__set_max_entries(self->programs_->maps.blocks, 1);
    const auto& maps = self->programs_->maps;
    TRY(share_maps({{maps.unwind_regions, tables.regions_fd()},
                    {maps.unwind_tables, tables.tables_fd()},
                    {maps.unwind_processes, tables.processes_fd()}},
                   "share the unwind tables with the programs that follow objects"));
    if (const int failed = objects_bpf__load(self->programs_.get()); failed != 0)
        return libbpf_error("load the programs that follow objects", failed);
    TRY_ASSIGN(self->functions_,
               MappedMap::map(bpf_map__fd(maps.functions), sizeof(lagtrap_object_function),
                              LAGTRAP_OBJECT_FUNCTIONS, "counts of functions"));
    TRY_ASSIGN(self->classes_,
               MappedMap::map(bpf_map__fd(maps.classes), sizeof(lagtrap_object_class),
                              LAGTRAP_OBJECT_CLASSES, "counts of objects"));
    TRY_ASSIGN(self->totals_, MappedMap::map(bpf_map__fd(maps.totals),
                                             sizeof(lagtrap_object_totals), 1, "counts"));
    self->ring_ = {ring_buffer__new(bpf_map__fd(maps.object_calls), on_record, self.get(), nullptr),
                   ring_buffer__free};
    if (!self->ring_) return libbpf_error("listen for calls", -errno);
    self->probes_ = std::make_unique<FunctionProbes>(
        FunctionProbes::Programs{all.on_object_call, all.on_object_exit, all.on_object_return,
                                 bpf_map__fd(maps.exit_sites)},
        target.pid);
    self->other_probes_ = std::make_unique<CallProbes>(target.pid);
    self->scheduler_link_ = Link(bpf_program__attach(all.count_off_cpu));
    if (!self->scheduler_link_) return libbpf_error("follow the process's threads", -errno);
    return self;
}

ObjectEngine::~ObjectEngine() { detach(); }

void ObjectEngine::detach() {
    if (probes_) probes_->detach();
    if (other_probes_) other_probes_->detach();
    scheduler_link_.reset();
}

void ObjectEngine::set_least(std::chrono::nanoseconds least) {
    auto* const totals = static_cast<lagtrap_object_totals*>(totals_.at);
    __atomic_store_n(&totals->min_ns, static_cast<__u64>(std::max<std::int64_t>(least.count(), 0)),
                     __ATOMIC_RELAXED);
}

void ObjectEngine::set_room(std::uint64_t calls) {
    auto* const totals = static_cast<lagtrap_object_totals*>(totals_.at);
    __atomic_store_n(&totals->room, static_cast<__s64>(calls), __ATOMIC_RELAXED);
}

void ObjectEngine::set_stack_room(std::uint64_t stacks) {
    auto* const totals = static_cast<lagtrap_object_totals*>(totals_.at);
    __atomic_store_n(&totals->stack_room, static_cast<__s64>(stacks), __ATOMIC_RELAXED);
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
        lagtrap_object_function& one = all()[number];
        if (number < watched_) {
            one = plan.described[number];
            files_.push_back(plan.functions[number].file);
            class_numbers_.push_back(plan.reported.functions[number].class_number);
        }
        one.inside_ns = costs[number].inside_ns;
        one.around_ns = costs[number].around_ns;
    }
    TRY(attach_exceptions(plan));
    TRY(attach_memory(plan));
    return probes_->attach(plan.files, plan.functions, LAGTRAP_OBJECT_FUNCTIONS, 0);
}

Status ObjectEngine::attach_memory(const ObjectPlan& plan) {
    if (plan.memory.empty()) return success();
    std::vector<CallProbe> entries, returns, leaving;
    std::map<std::uint64_t, CallProbe> exits;
    for (std::uint32_t at = 0; at < plan.memory.size(); ++at) {
        const MemoryFunction& one = plan.memory[at];
        const std::uint32_t number = watched_ + at;
        const std::uint64_t cookie =
            number | static_cast<std::uint64_t>(one.kind) << LAGTRAP_COOKIE_MEMORY_SHIFT |
            std::uint64_t{one.size_from} << LAGTRAP_COOKIE_SIZE_SHIFT |
            (one.size_times ? LAGTRAP_COOKIE_SIZE_TIMES : 0);
        if (one.kind != LAGTRAP_MEMORY_TAKE || plan.memory_by_request)
            entries.push_back({one.entry, cookie, {number}});
        for (const binaries::FunctionExit& exit : one.exits) {
            CallProbe& probe = exits[exit.file_offset];
            if (probe.functions.empty())
                probe = {exit.file_offset, number | exit_cookie_of(exit, 0), {}};
            probe.functions.push_back(number);
        }
        if (!one.exits.empty()) continue;
        if (one.kind != LAGTRAP_MEMORY_GIVE || !plan.jumps.empty())
            returns.push_back({one.entry, cookie, {number}});
    }
    const auto& file = plan.files[plan.memory_file].file;
    TRY(other_probes_->attach(programs_->progs.on_memory_call, file, std::move(entries), false));
    TRY(other_probes_->attach(programs_->progs.on_memory_return, file, std::move(returns), true));
    for (auto& [offset, probe] : exits) leaving.push_back(std::move(probe));
    TRY(other_probes_->attach(programs_->progs.on_memory_exit, file, std::move(leaving), false));
    std::map<std::uint32_t, std::vector<CallProbe>> jumps;  // by file
    for (const ObjectPlan::Jump& one : plan.jumps)
        jumps[plan.functions[one.function].file].push_back(
            {one.offset, one.function, {one.function}});
    for (auto& [number, probes] : jumps)
        TRY(other_probes_->attach(programs_->progs.on_object_jump, plan.files[number].file,
                                  std::move(probes), false));
    return success();
}

Status ObjectEngine::attach_exceptions(const ObjectPlan& plan) {
    const auto put = [&](bpf_program* program,
                         const std::vector<ObjectPlan::Place>& places) -> Status {
        for (const ObjectPlan::Place& place : places) {
            std::vector<CallProbe> one{{place.entry, no_function, {no_function}}};
            TRY(other_probes_->attach(program, plan.files[place.file].file, std::move(one), false));
        }
        return success();
    };
    TRY(put(programs_->progs.on_throw, plan.throws));
    return put(programs_->progs.on_catch, plan.catches);
}

Status ObjectEngine::take_out(const std::set<std::uint32_t>& functions) {
    auto* const totals = static_cast<lagtrap_object_totals*>(totals_.at);
    __atomic_store_n(&totals->relinking_until_ns, monotonic_ns() + relinking_takes_ns,
                     __ATOMIC_RELAXED);
    std::set<std::uint32_t> watched, memory;
    for (const std::uint32_t number : functions) {
        if (number >= watched_) continue;
        __atomic_store_n(&all()[number].taken_out, 1, __ATOMIC_RELAXED);
        watched.insert(number);
    }
    if (!memory_is_out_ && !functions.empty() && *functions.rbegin() >= watched_) {
        memory_is_out_ = true;
        __atomic_store_n(&totals->memory_is_out, 1, __ATOMIC_RELAXED);
        for (std::uint32_t at = 0; at < memory_; ++at) memory.insert(watched_ + at);
    }
    memory.insert(watched.begin(), watched.end());  // including their jumps to the allocator
    if (!memory.empty()) TRY(other_probes_->take_out(memory));
    return watched.empty() ? success() : probes_->take_out(watched);
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
        if (message.function < engine->watched_) engine->take_message(message);
    }
    return 0;
}

bool ObjectEngine::speak_of_one(std::uint32_t failed, std::uint32_t reported) const {
    return files_[failed] == files_[reported] || class_numbers_[failed] == class_numbers_[reported];
}

// Adds the text to the thread's last failure that it may be about.
void ObjectEngine::take_message(const lagtrap_object_message& record) {
    const std::string text = shown_text(text_of(record.text), texts_);
    for (auto call = taken_.calls.rbegin(); call != taken_.calls.rend(); ++call) {
        if (call->tid != record.tid || !call->failed ||
            !speak_of_one(call->function, record.function))
            continue;
        if (!call->left && call->error.empty()) call->error = text;
        return;
    }
    taken_.messages.push_back({record.function, record.tid, record.at_ns, text});
}

void ObjectEngine::take_call(const lagtrap_object_call& record,
                             const lagtrap_object_call_texts* texts) {
    if (record.function >= watched_) return;
    calls::ObjectCall call;
    call.function = record.function;
    call.tid = record.tid;
    call.begin_ns = record.begin_ns;
    call.end_ns = std::max<std::uint64_t>(record.begin_ns, record.end_ns);
    const std::uint64_t whole_ns = call.end_ns - call.begin_ns;
    call.probes_ns = std::min<std::uint64_t>(record.probes_ns, whole_ns);
    call.off_cpu_ns = std::min<std::uint64_t>(record.off_cpu_ns, whole_ns);
    call.object = record.object;
    call.result = record.result;
    call.taken_bytes = record.taken_bytes;
    call.given_bytes = record.given_bytes;
    call.resident_bytes = record.resident_pages * ::sysconf(_SC_PAGESIZE);
    call.allocations = record.allocations;
    call.error_number = record.error_number;
    call.state =
        static_cast<calls::ObjectState>(std::min<__u8>(record.state, LAGTRAP_OBJECT_WITHIN));
    call.failed = record.failed != 0;
    call.left = record.left != 0;
    call.depth = record.depth;
    call.thread = text_of(record.comm);
    if (texts != nullptr) {
        call.title = shown_text(text_of(texts->title), texts_);
        call.error = shown_text(thrown_text(*texts), texts_);
    }
    taken_.calls.push_back(std::move(call));
}

ObjectEngine::Taken ObjectEngine::take(std::chrono::milliseconds wait) {
    std::this_thread::sleep_for(wait);
    (void)ring_buffer__consume(ring_.get());
    return std::exchange(taken_, {});
}

std::vector<std::uint64_t> ObjectEngine::hits() const {
    std::vector<std::uint64_t> hits;
    for (std::uint32_t number = 0; number < watched_ + memory_; ++number)
        hits.push_back(__atomic_load_n(&all()[number].hits, __ATOMIC_RELAXED));
    return hits;
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
        const std::uint64_t created = one.created,
                            gone = one.released + one.replaced + one.not_followed;
        counts.push_back({created, created - std::min(created, gone), one.released, one.failures,
                          one.released_twice, one.used_after, one.unknown, one.replaced,
                          one.not_followed});
    }
    return counts;
}

std::vector<ObjectEngine::Old> ObjectEngine::oldest(std::size_t most) const {
    const std::uint64_t now_ns = monotonic_ns();
    std::map<std::uint32_t, std::vector<Old>> by_class;
    const auto is_older = [](const auto& one, const auto& other) {
        return one.object.age_ns > other.object.age_ns;
    };
    for_each_alive(bpf_map__fd(programs_->maps.alive),
                   [&](const lagtrap_object_key& key, const lagtrap_object_alive& one) {
                       auto& own = by_class[one.class_number];
                       own.push_back({{one.class_number,
                                       one.function,
                                       one.tid,
                                       key.object,
                                       now_ns - std::min<std::uint64_t>(now_ns, one.created_ns),
                                       one.uses,
                                       one.bytes,
                                       shown_text(text_of(one.title), texts_),
                                       {},
                                       0,
                                       one.shares_stack != 0},
                                      one.caller,
                                      one.stack});
                       std::push_heap(own.begin(), own.end(), is_older);
                       if (own.size() <= most) return;
                       std::pop_heap(own.begin(), own.end(), is_older);
                       own.pop_back();
                   });
    std::vector<Old> oldest;
    for (auto& [number, own] : by_class) {
        std::sort(own.begin(), own.end(), is_older);
        std::move(own.begin(), own.end(), std::back_inserter(oldest));
    }
    return oldest;
}

lagtrap_object_totals ObjectEngine::totals() const {
    return *static_cast<const lagtrap_object_totals*>(totals_.at);
}

}  // namespace lagtrap::daemon
