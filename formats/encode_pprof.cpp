#include <zlib.h>

#include <algorithm>
#include <array>
#include <map>
#include <new>
#include <tuple>

#include <protozero/pbf_writer.hpp>

#include "formats/encoders.hpp"

namespace lagtrap::formats {

namespace {

using analysis::TimeKind;

// Field numbers of profile.proto.
namespace pprof_field {
enum Profile : protozero::pbf_tag_type {
    sample_type = 1,
    sample,
    mapping,
    location,
    function,
    string_table,
    time_nanos = 9,
    duration_nanos,
    period_type,
    period,
    comment,
    default_sample_type
};
enum Type : protozero::pbf_tag_type { type = 1, unit };
enum Sample : protozero::pbf_tag_type { location_id = 1, value, label };
enum Label : protozero::pbf_tag_type { key = 1, text, number };
enum Mapping : protozero::pbf_tag_type {
    mapping_id = 1,
    memory_start,
    memory_limit,
    filename = 5,
    build_id,
    has_functions,
    has_filenames,
    has_line_numbers,
    has_inline_frames
};
enum Location : protozero::pbf_tag_type { location_own_id = 1, location_mapping, address, line };
enum Line : protozero::pbf_tag_type { function_id = 1, line_number };
enum Function : protozero::pbf_tag_type { function_own_id = 1, name, system_name, source };
}  // namespace pprof_field

class PprofWriter {
  public:
    explicit PprofWriter(const StackProfile& profile) : profile_(profile), writer_(bytes_) {}

    std::string write() {
        string("");
        set_types();
        for (const auto& [name, kinds] : types_) value_type(pprof_field::sample_type, name);
        add_places();
        add_samples();
        writer_.add_int64(pprof_field::time_nanos, static_cast<std::int64_t>(profile_.realtime_ns));
        writer_.add_int64(pprof_field::duration_nanos,
                          static_cast<std::int64_t>(profile_.length_ns));
        value_type(pprof_field::period_type, "cpu");
        writer_.add_int64(pprof_field::period,
                          static_cast<std::int64_t>(profile_.sample_interval_ns));
        for (const std::string& said : {profile_.title, profile_.host, profile_.system})
            if (!said.empty()) writer_.add_int64(pprof_field::comment, string(said));
        writer_.add_int64(pprof_field::default_sample_type, string(types_.front().first));
        for (const std::string* text : strings_in_order_)
            writer_.add_string(pprof_field::string_table, *text);
        return std::move(bytes_);
    }

  private:
    using Kinds = std::vector<TimeKind>;

    void set_types() {
        const std::pair<std::string, Kinds> cpu{"cpu", {TimeKind::OnCpu}};
        const std::pair<std::string, Kinds> runnable{"runnable", {TimeKind::Runnable}};
        const std::pair<std::string, Kinds> blocked{"blocked", {TimeKind::Blocked}};
        const std::pair<std::string, Kinds> time{
            "time", {TimeKind::OnCpu, TimeKind::Runnable, TimeKind::Blocked, TimeKind::Unknown}};
        switch (profile_.time) {
            case TimeChoice::OnCpu: types_ = {cpu}; break;
            case TimeChoice::OffCpu: types_ = {time, runnable, blocked}; break;
            default:
                types_ = {time, cpu, runnable, blocked, {"unknown", {TimeKind::Unknown}}};
                break;
        }
    }

    std::int64_t string(const std::string& text) {
        const auto [known, added] =
            strings_.try_emplace(text, static_cast<std::int64_t>(strings_.size()));
        if (added) strings_in_order_.push_back(&known->first);
        return known->second;
    }

    void value_type(protozero::pbf_tag_type tag, const std::string& name) {
        protozero::pbf_writer type(writer_, tag);
        type.add_int64(pprof_field::type, string(name));
        type.add_int64(pprof_field::unit, string("nanoseconds"));
    }

    // One location per place, numbered from 1. Name, module and source identify its function.
    void add_places() {
        std::map<std::pair<std::string, std::string>, std::vector<const Place*>> modules;
        for (const Place& place : profile_.places)
            if (!place.state) modules[{place.module, place.build_id}].push_back(&place);
        std::uint64_t id = 0;
        std::map<const Place*, std::uint64_t> mapping_of;
        for (const auto& [module, places] : modules) {
            add_mapping(++id, module.first, module.second, places);
            for (const Place* place : places) mapping_of[place] = id;
        }
        std::map<std::tuple<std::string, std::string, std::string>, std::uint64_t> functions;
        for (std::size_t i = 0; i < profile_.places.size(); ++i) {
            const Place& place = profile_.places[i];
            const auto [known, added] = functions.try_emplace(
                {place.function, place.module, place.source}, functions.size() + 1);
            if (added) add_function(known->second, place);
            protozero::pbf_writer location(writer_, pprof_field::location);
            location.add_uint64(pprof_field::location_own_id, i + 1);
            if (!place.state)
                location.add_uint64(pprof_field::location_mapping, mapping_of[&place]);
            if (place.offset != 0) location.add_uint64(pprof_field::address, place.offset);
            protozero::pbf_writer line(location, pprof_field::line);
            line.add_uint64(pprof_field::function_id, known->second);
            if (place.line != 0) line.add_int64(pprof_field::line_number, place.line);
        }
    }

    void add_mapping(std::uint64_t id, const std::string& module, const std::string& build_id,
                     const std::vector<const Place*>& places) {
        std::uint64_t limit = 0;
        bool lines = false;
        for (const Place* place : places) {
            limit = std::max(limit, place->offset);
            lines = lines || place->line != 0;
        }
        protozero::pbf_writer mapping(writer_, pprof_field::mapping);
        mapping.add_uint64(pprof_field::mapping_id, id);
        mapping.add_uint64(pprof_field::memory_start, 0);
        mapping.add_uint64(pprof_field::memory_limit, limit == UINT64_MAX ? limit : limit + 1);
        mapping.add_int64(pprof_field::filename, string(module));
        mapping.add_int64(pprof_field::build_id, string(build_id));
        // These say that names were already resolved, so that pprof does not try again: the
        // machine's files may be gone.
        mapping.add_bool(pprof_field::has_functions, true);
        mapping.add_bool(pprof_field::has_filenames, lines);
        mapping.add_bool(pprof_field::has_line_numbers, lines);
        mapping.add_bool(pprof_field::has_inline_frames, lines);
    }

    void add_function(std::uint64_t id, const Place& place) {
        protozero::pbf_writer function(writer_, pprof_field::function);
        function.add_uint64(pprof_field::function_own_id, id);
        function.add_int64(pprof_field::name, string(place.function));
        function.add_int64(pprof_field::system_name, string(place.function));
        function.add_int64(pprof_field::source, string(place.source));
    }

    void add_samples() {
        for (const ProfiledThread& thread : profile_.threads) {
            std::map<std::tuple<std::uint32_t, std::uint32_t, TimeKind, std::uint32_t>,
                     std::uint64_t>
                sums;
            for (const Piece& piece : thread.pieces)
                sums[{piece.stack, piece.leaf, piece.kind, piece.reason}] += piece.weight_ns;
            for (const auto& [key, time_ns] : sums) {
                if (time_ns == 0) continue;
                Piece piece;
                std::tie(piece.stack, piece.leaf, piece.kind, piece.reason) = key;
                add_sample(thread, piece, time_ns);
            }
        }
    }

    void add_sample(const ProfiledThread& thread, const Piece& piece, std::uint64_t time_ns) {
        std::vector<std::uint64_t> locations;
        // The state is a label. If no stack is known, the state takes its place.
        for (std::uint32_t node = piece.stack != 0 ? piece.stack : piece.leaf; node != 0;
             node = profile_.nodes[node].parent)
            locations.push_back(std::uint64_t{profile_.nodes[node].place} + 1);
        std::vector<std::int64_t> values;
        for (const auto& [name, kinds] : types_) {
            const bool counts = std::find(kinds.begin(), kinds.end(), piece.kind) != kinds.end();
            values.push_back(counts ? static_cast<std::int64_t>(time_ns) : 0);
        }
        protozero::pbf_writer sample(writer_, pprof_field::sample);
        sample.add_packed_uint64(pprof_field::location_id, locations.begin(), locations.end());
        sample.add_packed_int64(pprof_field::value, values.begin(), values.end());
        label(sample, "process", thread.process);
        label(sample, "thread", thread.name);
        label(sample, "pid", thread.pid);
        label(sample, "tid", thread.tid);
        label(sample, "state", state_words(profile_, piece));
    }

    void label(protozero::pbf_writer& sample, const char* key, const std::string& text) {
        protozero::pbf_writer label(sample, pprof_field::label);
        label.add_int64(pprof_field::key, string(key));
        label.add_int64(pprof_field::text, string(text));
    }

    void label(protozero::pbf_writer& sample, const char* key, std::uint32_t number) {
        protozero::pbf_writer label(sample, pprof_field::label);
        label.add_int64(pprof_field::key, string(key));
        label.add_int64(pprof_field::number, number);
    }

    const StackProfile& profile_;
    std::string bytes_;
    protozero::pbf_writer writer_;
    std::vector<std::pair<std::string, Kinds>> types_;
    std::map<std::string, std::int64_t> strings_;
    std::vector<const std::string*> strings_in_order_;
};

std::string gzip(const std::string& bytes) {
    z_stream stream{};
    constexpr int gzip_window = 15 + 16;
    // It fails only if memory runs out, so treat it like any failed allocation.
    if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, gzip_window, 8,
                     Z_DEFAULT_STRATEGY) != Z_OK)
        throw std::bad_alloc();
    std::string packed;
    std::array<char, 65536> buffer;
    std::size_t given = 0;
    int state = Z_OK;
    while (state != Z_STREAM_END) {
        if (stream.avail_in == 0 && given < bytes.size()) {
            const std::size_t part = std::min<std::size_t>(bytes.size() - given, 1U << 30);
            stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data() + given));
            stream.avail_in = static_cast<uInt>(part);
            given += part;
        }
        stream.next_out = reinterpret_cast<Bytef*>(buffer.data());
        stream.avail_out = static_cast<uInt>(buffer.size());
        state = deflate(&stream, given == bytes.size() ? Z_FINISH : Z_NO_FLUSH);
        packed.append(buffer.data(), buffer.size() - stream.avail_out);
    }
    deflateEnd(&stream);
    return packed;
}

}  // namespace

std::string encode_pprof(const StackProfile& profile) { return gzip(PprofWriter(profile).write()); }

}  // namespace lagtrap::formats
