#include "analysis/interning.hpp"

#include <string>

#include <protozero/pbf_reader.hpp>

#include "analysis/module_symbols.hpp"
#include "analysis/trace_fields.hpp"

namespace lagtrap::analysis {

namespace {

constexpr std::uint32_t stack_depth_limit = 4096;

}  // namespace

std::optional<std::uint32_t> Interning::find(const Ids& ids, std::uint64_t id) {
    const auto found = ids.find(id);
    if (found == ids.end()) return std::nullopt;
    return found->second;
}

void Interning::add(protozero::data_view interned_data, RawTrace& trace) {
    // Frames may refer to mappings, and stacks to frames, that follow in the same message. So
    // handle one kind after the other.
    std::vector<protozero::data_view> mappings, frames, stacks;
    protozero::pbf_reader reader(interned_data);
    while (reader.next() && !trace.too_large()) {
        ++trace.records;
        switch (reader.tag_and_type()) {
            case fields::interned::event_categories:
                add_name(reader.get_view(), categories_, trace);
                break;
            case fields::interned::event_names:
                add_name(reader.get_view(), event_names_, trace);
                break;
            case fields::interned::annotation_names:
                add_name(reader.get_view(), annotation_names_, trace);
                break;
            case fields::interned::annotation_strings:
                add_name(reader.get_view(), annotation_strings_, trace);
                break;
            case fields::interned::function_names:
                add_name(reader.get_view(), functions_, trace);
                break;
            case fields::interned::mapping_paths: add_name(reader.get_view(), paths_, trace); break;
            case fields::interned::source_paths:
                add_name(reader.get_view(), sources_, trace);
                break;
            case fields::interned::build_ids: add_build_id(reader.get_view(), trace); break;
            case fields::interned::mappings: mappings.push_back(reader.get_view()); break;
            case fields::interned::frames: frames.push_back(reader.get_view()); break;
            case fields::interned::callstacks: stacks.push_back(reader.get_view()); break;
            default: reader.skip();
        }
    }
    for (const auto& mapping : mappings) add_mapping(mapping, trace);
    for (const auto& frame : frames) add_frame(frame, trace);
    for (const auto& stack : stacks) add_stack(stack, trace);
}

void Interning::add_name(protozero::data_view message, Ids& ids, RawTrace& trace) {
    std::uint64_t id = 0;
    std::string_view text;
    protozero::pbf_reader reader(message);
    while (reader.next()) {
        switch (reader.tag_and_type()) {
            case fields::interned_string::iid: id = reader.get_uint64(); break;
            case fields::interned_string::text: text = view_of(reader.get_view()); break;
            default: reader.skip();
        }
    }
    ids[id] = interned(text, name_length_limit, trace);
}

void Interning::add_build_id(protozero::data_view message, RawTrace& trace) {
    std::uint64_t id = 0;
    std::string_view bytes;
    protozero::pbf_reader reader(message);
    while (reader.next()) {
        switch (reader.tag_and_type()) {
            case fields::interned_string::iid: id = reader.get_uint64(); break;
            case fields::interned_string::text: bytes = view_of(reader.get_view()); break;
            default: reader.skip();
        }
    }
    build_ids_[id] = trace.intern(build_id_text(bytes));
}

void Interning::add_mapping(protozero::data_view message, RawTrace& trace) {
    std::uint64_t id = 0;
    std::uint64_t build_id = 0;
    std::uint64_t load_bias = 0;
    std::string path;
    const auto add_part = [&](std::uint64_t path_id) {
        const auto part = find(paths_, path_id);
        if (!part) {
            ++trace.unreadable;
        } else if (path.size() < name_length_limit) {
            if (!path.empty() && path.back() != '/') path += '/';
            path += trace.names[*part];
        }
    };
    protozero::pbf_reader reader(message);
    while (reader.next()) {
        switch (reader.tag_and_type()) {
            case fields::mapping::iid: id = reader.get_uint64(); break;
            case fields::mapping::build_id: build_id = reader.get_uint64(); break;
            case fields::mapping::load_bias: load_bias = reader.get_uint64(); break;
            case fields::mapping::path_ids: add_part(reader.get_uint64()); break;
            case fields::mapping::path_ids_packed:
                for (const std::uint64_t part : reader.get_packed_uint64()) add_part(part);
                break;
            default: reader.skip();
        }
    }
    mappings_[id] = {trace.intern(path), find(build_ids_, build_id).value_or(0), load_bias};
}

void Interning::add_frame(protozero::data_view message, RawTrace& trace) {
    std::uint64_t id = 0;
    std::uint64_t function = 0;
    std::uint64_t mapping = 0;
    std::uint64_t source = 0;
    Frame frame;
    protozero::pbf_reader reader(message);
    while (reader.next()) {
        switch (reader.tag_and_type()) {
            case fields::frame::iid: id = reader.get_uint64(); break;
            case fields::frame::function_name_id: function = reader.get_uint64(); break;
            case fields::frame::mapping_id: mapping = reader.get_uint64(); break;
            case fields::frame::offset: frame.offset = reader.get_uint64(); break;
            case fields::frame::source_path_id: source = reader.get_uint64(); break;
            case fields::frame::line: frame.line = reader.get_uint32(); break;
            default: reader.skip();
        }
    }
    if (const auto known = mappings_.find(mapping); known != mappings_.end()) {
        frame.module = known->second.path;
        frame.build_id = known->second.build_id;
        frame.load_bias = known->second.load_bias;
    }
    frame.source = find(sources_, source).value_or(0);
    if (frame.source == 0) frame.line = 0;
    frame.label = find(functions_, function).value_or(0);
    frame.named = frame.label != 0;
    frame.kernel = trace.names[frame.module] == kernel_path;
    if (!frame.named) frame.label = trace.intern(module_label(trace.names[frame.module]));
    frames_[id] = static_cast<std::uint32_t>(trace.frames.size());
    trace.frames.push_back(frame);
}

void Interning::add_stack(protozero::data_view message, RawTrace& trace) {
    std::uint64_t id = 0;
    std::uint32_t count = 0;
    const auto add_frame_id = [&](std::uint64_t frame_id) {
        const auto frame = find(frames_, frame_id);
        if (frame && ++count <= stack_depth_limit) {
            trace.stack_frames.push_back(*frame);
            ++trace.records;
        } else {
            ++trace.unreadable;
        }
    };
    protozero::pbf_reader reader(message);
    while (reader.next()) {
        switch (reader.tag_and_type()) {
            case fields::callstack::iid: id = reader.get_uint64(); break;
            case fields::callstack::frame_ids: add_frame_id(reader.get_uint64()); break;
            case fields::callstack::frame_ids_packed:
                for (const std::uint64_t frame : reader.get_packed_uint64()) add_frame_id(frame);
                break;
            default: reader.skip();
        }
    }
    stacks_[id] = static_cast<StackId>(trace.stack_ends.size());
    trace.stack_ends.push_back(static_cast<std::uint32_t>(trace.stack_frames.size()));
}

}  // namespace lagtrap::analysis
