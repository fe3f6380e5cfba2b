#include "daemon/events/run_takeover.hpp"

#include <algorithm>
#include <cstring>
#include <optional>
#include <tuple>

namespace lagtrap::daemon {
namespace {

template <typename T>
void store(T& value, T wanted) {
    __atomic_store_n(&value, wanted, __ATOMIC_RELEASE);
}

std::size_t slot_index(std::uint32_t bucket, std::size_t place) {
    return bucket * LAGTRAP_BUCKET_SLOTS + place;
}

// Like tag_of() in run_pairing.bpf.h, from the data in the run's slot.
std::uint64_t tag_of(const lagtrap_slot& slot, const settings::Event& event, std::uint32_t number) {
    const lagtrap_run& run = slot.run;
    if (event.key == settings::KeyKind::Argument)
        return lagtrap_run_tag(run.key,
                               event.key_scope == settings::KeyScope::Machine ? 0 : run.begin_pid,
                               number, run.depth);
    if ((run.flags & LAGTRAP_RUN_OF_GOROUTINE) != 0)
        return lagtrap_run_tag(run.key, run.begin_pid, number, run.depth);
    if (slot.goroutine != 0)
        return lagtrap_run_tag(slot.goroutine | LAGTRAP_KEY_NO_GOROUTINE, run.begin_pid, number,
                               run.depth);
    if (slot.by_frame != 0)
        return lagtrap_run_tag(slot.stack_pointer, run.begin_pid, number, run.depth);
    return lagtrap_run_tag(run.begin_tid, 0, number, run.depth);
}

// nullopt if it is incomplete or changed during the copy.
std::optional<lagtrap_slot> read_slot(const std::uint64_t& tag_place, const lagtrap_slot& slot,
                                      std::uint64_t tag) {
    const std::uint64_t deadline_ns = load(slot.deadline_ns);
    lagtrap_slot copy;
    std::memcpy(&copy, &slot, sizeof copy);
    if (deadline_ns == 0 || load(tag_place) != tag || load(slot.deadline_ns) != deadline_ns)
        return std::nullopt;
    return copy;
}

bool same_reference(const std::optional<settings::ArgumentRef>& one,
                    const std::optional<settings::ArgumentRef>& other) {
    if (!one || !other) return one.has_value() == other.has_value();
    return one->index == other->index && one->field == other->field &&
           one->second_field == other->second_field;
}

bool same_marker(const settings::Marker& one, const settings::Marker& other) {
    const auto parts = [](const settings::Marker& marker) {
        return std::tie(marker.kind, marker.binary, marker.provider, marker.name, marker.side);
    };
    return parts(one) == parts(other) && same_reference(one.key, other.key);
}

}  // namespace

bool make_the_same_runs(const settings::Event& one, const settings::Event& other) {
    const auto parts = [](const settings::Event& event) {
        return std::tie(
            event.name, event.breach, event.nesting, event.key, event.key_scope, event.record,
            event.stacks, event.copies, event.scope.pid, event.scope.descendants, event.scope.uid,
            event.scope.binary, event.scope.groups.unit, event.scope.groups.control_group,
            event.scope.groups.container, event.scope.groups.image, event.scope.groups.pod,
            event.scope.groups.pod_namespace, event.scope.groups.label);
    };
    // One that follows from the runs may change at any time.
    const bool same_threshold =
        one.threshold_rule.has_value() == other.threshold_rule.has_value() &&
        (one.threshold_rule.has_value() || one.threshold == other.threshold);
    return same_threshold && parts(one) == parts(other) &&
           same_reference(one.begin_time, other.begin_time) &&
           same_reference(one.trace_id, other.trace_id) && same_marker(one.begin, other.begin) &&
           same_marker(one.end, other.end) &&
           std::equal(one.other_ends.begin(), one.other_ends.end(), other.other_ends.begin(),
                      other.other_ends.end(),
                      [](const settings::OtherEnd& a, const settings::OtherEnd& b) {
                          return a.meaning == b.meaning && same_marker(a.marker, b.marker);
                      }) &&
           std::equal(one.stages.begin(), one.stages.end(), other.stages.begin(),
                      other.stages.end(), [](const settings::Stage& a, const settings::Stage& b) {
                          return a.name == b.name && same_marker(a.marker, b.marker);
                      });
}

Result<RunTakeover> RunTakeover::between(Table from, Table to) {
    RunTakeover takeover;
    TRY_ASSIGN(takeover.from_, RunTable::map(from.tags_fd, from.slots_fd, from.buckets));
    TRY_ASSIGN(takeover.to_, RunTable::map(to.tags_fd, to.slots_fd, to.buckets));
    return takeover;
}

bool RunTakeover::is_there(std::uint64_t tag) const {
    for (const std::uint32_t bucket : {to_.first_bucket(tag), to_.second_bucket(tag)})
        for (std::size_t place = 0; place < LAGTRAP_BUCKET_TAGS; ++place)
            if (load(to_.tag(slot_index(bucket, place))) == tag) return true;
    return false;
}

// Marks the slot as taken, so that nobody finds the run before all of it is there.
bool RunTakeover::claim_in(std::uint32_t bucket, std::size_t& index) {
    for (std::size_t place = 0; place < LAGTRAP_BUCKET_TAGS; ++place) {
        index = slot_index(bucket, place);
        std::uint64_t expected = 0;
        if (__atomic_compare_exchange_n(&to_.tag(index), &expected, LAGTRAP_TAG_TAKEN, false,
                                        __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
            return true;
    }
    return false;
}

// The same count, for the run with this tag (LAGTRAP_OWNED_COUNT_SHIFT).
static std::uint64_t owned_count(std::uint64_t tag, std::uint64_t count) {
    return tag >> LAGTRAP_OWNED_COUNT_SHIFT << LAGTRAP_OWNED_COUNT_SHIFT |
           static_cast<std::uint32_t>(count);
}

// Like claim_slot() in bpf/run_table.bpf.h.
bool RunTakeover::claim(std::uint64_t tag, std::size_t& index) {
    const std::uint32_t first = to_.first_bucket(tag), second = to_.second_bucket(tag);
    const std::size_t used = to_.places_used(first);
    if (used < LAGTRAP_CROWDED_TAGS && claim_in(first, index)) return true;
    if (to_.places_used(second) < used) {
        __atomic_fetch_add(&to_.state(first), 1, __ATOMIC_ACQ_REL);
        if (claim_in(second, index)) return true;
        __atomic_fetch_sub(&to_.state(first), 1, __ATOMIC_ACQ_REL);
    }
    return claim_in(first, index);
}

bool RunTakeover::put(const lagtrap_slot& slot, std::uint64_t tag, std::size_t& index) {
    if (is_there(tag)) return false;
    if (!claim(tag, index)) return false;
    lagtrap_slot& place = to_.slot(index);
    store(place.deadline_ns, __u64{0});
    lagtrap_slot silent = slot;
    silent.deadline_ns = 0;
    std::memcpy(&place, &silent, sizeof place);
    store(place.deadline_ns, slot.deadline_ns);
    store(to_.tag(index), tag);
    to_.want_visit(index, 1);
    return true;
}

void RunTakeover::copy(const std::map<std::uint32_t, std::uint32_t>& numbers,
                       const std::vector<settings::Event>& events) {
    for (std::size_t index = 0; index < from_.slots(); ++index) {
        const std::uint64_t old_tag = load(from_.tag(index));
        if (RunTable::is_state(index) || old_tag == 0 || old_tag == LAGTRAP_TAG_TAKEN) continue;
        auto slot = read_slot(from_.tag(index), from_.slot(index), old_tag);
        if (!slot || slot->run.event >= events.size()) continue;
        const std::uint32_t event = slot->run.event;
        Counts& counts = counts_[event];
        const auto number = numbers.find(event);
        Copied copied{index, 0, old_tag, 0, slot->run.begin_hit_ns, event, slot->reported != 0};
        // The end of a run would not find it under a tag that does not follow from its key.
        if (number == numbers.end() || tag_of(*slot, events[event], event) != old_tag) {
            ++counts.left;
            continue;
        }
        copied.tag = tag_of(*slot, events[event], number->second);
        slot->run.event = number->second;
        for (__u64* const count : {&slot->open_depth, &slot->stage_next})
            *count = owned_count(copied.tag, *count);
        slot->times_generation = 0;  // the new programs start a new time breakdown
        // The old programs' stack ids mean nothing in reports of the new ones.
        slot->report.begin_stack = slot->report.end_stack = 0;
        std::fill(std::begin(slot->report.stage_stacks), std::end(slot->report.stage_stacks), 0);
        if (!put(*slot, copied.tag, copied.to)) {
            ++counts.left;
            continue;
        }
        ++counts.taken;
        counts.reported += copied.reported ? 1 : 0;
        copied_.push_back(copied);
    }
}

void RunTakeover::free(const Copied& run) {
    std::uint64_t expected = run.tag;
    if (load(to_.slot(run.to).run.begin_hit_ns) != run.begin_hit_ns) return;
    if (!__atomic_compare_exchange_n(&to_.tag(run.to), &expected, LAGTRAP_TAG_TAKEN, false,
                                     __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
        return;
    store(to_.slot(run.to).deadline_ns, __u64{0});
    store(to_.tag(run.to), std::uint64_t{0});
    if (run.to / LAGTRAP_BUCKET_SLOTS != to_.first_bucket(run.tag))
        __atomic_fetch_sub(&to_.state(to_.first_bucket(run.tag)), 1, __ATOMIC_ACQ_REL);
}

void RunTakeover::settle() {
    for (const Copied& run : copied_) {
        const lagtrap_slot& before = from_.slot(run.from);
        if (load(from_.tag(run.from)) == run.old_tag &&
            load(before.run.begin_hit_ns) == run.begin_hit_ns)
            continue;
        free(run);
        Counts& counts = counts_[run.event];
        --counts.taken;
        counts.reported -= run.reported ? 1 : 0;
    }
    copied_.clear();
}

}  // namespace lagtrap::daemon
