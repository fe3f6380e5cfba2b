#include "trace/merge/interner.hpp"

#include <algorithm>

#include "core/text.hpp"
#include "trace/perfetto/event_parts.hpp"
#include "trace/perfetto/perfetto_fields.hpp"

namespace lagtrap::trace {
namespace {

// Interned numbers start at 1, ours at 0.
std::uint64_t iid(std::uint64_t id) { return id + 1; }

bool mark(std::vector<bool>& defined, std::size_t index) {
    if (index >= defined.size()) defined.resize(index + 1);
    if (defined[index]) return false;
    defined[index] = true;
    return true;
}

}  // namespace

CallstackInterner::CallstackInterner(const StackTable& stacks, const ModuleTable& modules)
    : stacks_(stacks), modules_(modules) {}

void CallstackInterner::clear() {
    callstacks_.clear();
    frames_defined_.clear();
    mappings_defined_.clear();
    names_defined_.clear();
    sources_defined_.clear();
}

void CallstackInterner::define_mapping(ModuleId id, protozero::pbf_writer& interned) {
    if (!mark(mappings_defined_, id)) return;
    const RecordedModule& module = modules_.at(id);
    perfetto::add_interned(interned, perfetto::interned_data::mapping_paths, iid(id),
                           printable(module.path));
    if (!module.build_id.empty())
        perfetto::add_interned(interned, perfetto::interned_data::build_ids, iid(id),
                               module.build_id);
    // No start or end: one mapping stands for the module in all processes, wherever it was mapped.
    protozero::pbf_writer mapping(interned, perfetto::interned_data::mappings);
    mapping.add_uint64(perfetto::mapping::iid, iid(id));
    if (!module.build_id.empty()) mapping.add_uint64(perfetto::mapping::build_id, iid(id));
    if (module.load_bias != 0) mapping.add_uint64(perfetto::mapping::load_bias, module.load_bias);
    mapping.add_uint64(perfetto::mapping::path_string_ids, iid(id));
}

void CallstackInterner::define_name(FunctionName name, protozero::pbf_writer& interned) {
    if (name != no_name && mark(names_defined_, name))
        perfetto::add_interned(interned, perfetto::interned_data::function_names, name,
                               stacks_.name(name));
}

void CallstackInterner::define_source(FunctionName path, protozero::pbf_writer& interned) {
    if (path != no_name && mark(sources_defined_, path))
        perfetto::add_interned(interned, perfetto::interned_data::source_paths, path,
                               stacks_.name(path));
}

void CallstackInterner::define_frame(FrameId id, protozero::pbf_writer& interned) {
    if (!mark(frames_defined_, id)) return;
    const CodeFrame& frame = stacks_.frames()[id];
    define_mapping(frame.module, interned);
    define_name(frame.name, interned);
    define_source(frame.source, interned);
    protozero::pbf_writer entry(interned, perfetto::interned_data::frames);
    entry.add_uint64(perfetto::frame::iid, iid(id));
    if (frame.name != no_name) entry.add_uint64(perfetto::frame::function_name_id, frame.name);
    entry.add_uint64(perfetto::frame::mapping_id, iid(frame.module));
    // The address as linked, for symbolizers; minus the load bias, it is the file offset.
    entry.add_uint64(perfetto::frame::rel_pc, frame.offset + modules_.at(frame.module).load_bias);
    if (frame.source == no_name) return;
    entry.add_uint64(perfetto::frame::source_path_iid, frame.source);
    if (frame.line != 0) entry.add_uint32(perfetto::frame::line_number, frame.line);
}

// Inlined functions have their own frames, all at the same place.
void CallstackInterner::define_frames(const CallStack& stack, protozero::pbf_writer& interned) {
    for (const FrameId place : stacks_.frames_of(stack))
        for (FrameId id = place; id != no_frame; id = stacks_.frames()[id].inlined_into)
            define_frame(id, interned);
}

void CallstackInterner::append_outermost_first(const CallStack* stack,
                                               std::vector<std::uint64_t>& ids) const {
    if (stack == nullptr) return;
    const auto begin = static_cast<std::ptrdiff_t>(ids.size());
    for (const FrameId place : stacks_.frames_of(*stack))
        for (FrameId id = place; id != no_frame; id = stacks_.frames()[id].inlined_into)
            ids.push_back(iid(id));
    std::reverse(ids.begin() + begin, ids.end());
}

std::uint64_t CallstackInterner::intern(const CallStack* kernel, const CallStack* user,
                                        protozero::pbf_writer& packet) {
    if (kernel == nullptr && user == nullptr) return 0;
    const auto [known, added] = callstacks_.try_emplace(Pair{kernel, user}, callstacks_.size() + 1);
    if (!added) return known->second;
    protozero::pbf_writer interned(packet, perfetto::trace_packet::interned_data);
    if (user != nullptr) define_frames(*user, interned);
    if (kernel != nullptr) define_frames(*kernel, interned);
    std::vector<std::uint64_t> ids;
    append_outermost_first(user, ids);
    append_outermost_first(kernel, ids);
    protozero::pbf_writer callstack(interned, perfetto::interned_data::callstacks);
    callstack.add_uint64(perfetto::callstack::iid, known->second);
    for (const std::uint64_t id : ids) callstack.add_uint64(perfetto::callstack::frame_ids, id);
    return known->second;
}

}  // namespace lagtrap::trace
