#include "analysis/trace_places.hpp"

#include <algorithm>
#include <map>

#include <protozero/pbf_reader.hpp>

#include "analysis/raw_trace.hpp"
#include "analysis/trace_fields.hpp"

namespace lagtrap::analysis {

namespace {

// The trace was decoded before, so its packets are complete.
std::uint64_t last_time_of(std::string_view trace) {
    std::uint64_t last_ns = 0;
    protozero::pbf_reader packets(trace.data(), trace.size());
    while (packets.next()) {
        if (packets.tag_and_type() != fields::trace::packet) {
            packets.skip();
            continue;
        }
        protozero::pbf_reader packet(packets.get_view());
        while (packet.next(8, protozero::pbf_wire_type::varint))
            last_ns = std::max(last_ns, packet.get_uint64());
    }
    return last_ns;
}

// How often each frame occurs in the stacks of samples and waits.
std::vector<std::uint64_t> uses_of_frames(const RawTrace& raw) {
    std::vector<std::uint64_t> uses_of_stack(raw.stack_ends.size());
    for (const auto* samples : {&raw.samples, &raw.off_cpu})
        for (const RawSample& sample : *samples) ++uses_of_stack[sample.stack];
    std::vector<std::uint64_t> uses(raw.frames.size());
    for (std::size_t stack = 1; stack < raw.stack_ends.size(); ++stack)
        for (std::size_t i = raw.stack_ends[stack - 1]; i < raw.stack_ends[stack]; ++i)
            uses[raw.stack_frames[i]] += uses_of_stack[stack];
    return uses;
}

// What is known about a place. Its frames occur in the trace once for samples and once for waits.
struct Place {
    NameId name = 0;
    std::uint64_t load_bias = 0;
    std::uint64_t uses = 0;
    bool located = false;
};

struct Group {
    trace::UnnamedModule module;
    std::uint64_t uses = 0;
};

std::map<ModulePlace, Place> gather(const RawTrace& raw, const std::vector<std::uint64_t>& uses) {
    std::map<ModulePlace, Place> places;
    for (std::size_t id = 0; id < raw.frames.size(); ++id) {
        const Frame& frame = raw.frames[id];
        if (frame.kernel || !raw.names[frame.module].starts_with('/')) continue;
        Place& place = places[{frame.module, frame.build_id, frame.offset}];
        if (frame.named) place.name = frame.label;
        place.load_bias = frame.load_bias;
        place.uses += uses[id];
        place.located = place.located || frame.source != 0;
    }
    return places;
}

}  // namespace

Result<TracePlaces> read_places(std::string_view trace) {
    TRY_ASSIGN(const RawTrace raw, decode_trace(trace));
    TracePlaces result;
    result.last_ns = last_time_of(trace);
    const std::vector<std::uint64_t> uses = uses_of_frames(raw);
    for (std::size_t id = 0; id < raw.frames.size(); ++id) {
        result.counts.frames += uses[id];
        if (raw.frames[id].named) result.counts.named += uses[id];
        if (raw.frames[id].source != 0) result.counts.located += uses[id];
    }
    std::map<std::pair<NameId, NameId>, Group> groups;
    for (const auto& [key, place] : gather(raw, uses)) {
        if (place.located) continue;
        if (key.build_id == 0) {
            ++result.places_without_build_id;
            continue;
        }
        Group& group = groups[{key.module, key.build_id}];
        group.module.path = raw.names[key.module];
        group.module.build_id = raw.names[key.build_id];
        group.module.load_bias = place.load_bias;
        group.uses += place.uses;
        group.module.places.push_back({key.offset, raw.names[place.name]});
    }
    std::vector<Group*> sorted;
    sorted.reserve(groups.size());
    for (auto& [key, group] : groups) sorted.push_back(&group);
    std::stable_sort(sorted.begin(), sorted.end(),
                     [](const Group* a, const Group* b) { return a->uses > b->uses; });
    for (Group* group : sorted) result.modules.push_back(std::move(group->module));
    return result;
}

}  // namespace lagtrap::analysis
