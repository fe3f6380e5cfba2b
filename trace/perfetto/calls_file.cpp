#include "trace/perfetto/calls_file.hpp"

#include <unistd.h>

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "core/clock.hpp"
#include "core/files.hpp"
#include "trace/perfetto/perfetto_fields.hpp"

namespace lagtrap::trace {
namespace {

using protozero::pbf_writer;

void write_clocks(PacketWriter& writer, const ClockSnapshot& clocks, std::uint64_t first_ns) {
    writer.packet(Sequence::Machine, first_ns, UsesInterning::No, [&](pbf_writer& packet) {
        pbf_writer snapshot(packet, perfetto::trace_packet::clock_snapshot);
        {
            pbf_writer one(snapshot, perfetto::clock_snapshot::clocks);
            one.add_uint32(perfetto::clock::clock_id, perfetto::clock::boottime);
            one.add_uint64(perfetto::clock::timestamp, clocks.boottime_ns);
        }
        snapshot.add_enum(perfetto::clock_snapshot::primary_trace_clock, perfetto::clock::boottime);
    });
    // The other clocks at the same time, as in a merge.
    writer.packet(Sequence::Machine, first_ns, UsesInterning::No, [&](pbf_writer& packet) {
        pbf_writer attributes(packet, perfetto::trace_packet::trace_attributes);
        const auto add = [&](const char* key, std::uint64_t at_ns) {
            pbf_writer attribute(attributes, perfetto::trace_attributes::attribute);
            attribute.add_string(perfetto::attribute::key, key);
            attribute.add_int64(perfetto::attribute::long_value, static_cast<std::int64_t>(at_ns));
        };
        add("lagtrap.clock.boottime_ns", clocks.boottime_ns);
        add("lagtrap.clock.monotonic_ns", clocks.monotonic_ns);
        add("lagtrap.clock.realtime_ns", clocks.realtime_ns);
    });
}

}  // namespace

CallsFile::CallsFile(std::filesystem::path path, std::filesystem::path beside, PacketWriter writer,
                     const std::string& name)
    : clocks_(ClockSnapshot::take()),
      path_(std::move(path)),
      beside_(std::move(beside)),
      writer_(std::make_unique<PacketWriter>(std::move(writer))),
      slices_(std::make_unique<CallSlices>(*writer_, clocks_.boottime_ns - clocks_.monotonic_ns,
                                           name)) {}

CallsFile::~CallsFile() {
    if (!beside_.empty() && writer_) ::unlink(beside_.c_str());
}

Result<CallsFile> CallsFile::create(const std::filesystem::path& path,
                                    const std::string& track_name) {
    const std::filesystem::path beside =
        path.string() + "." + std::to_string(::getpid()) + ".partial";
    auto writer = PacketWriter::create(beside);
    if (!writer) return writer.error();
    return CallsFile(path, beside, std::move(*writer), track_name);
}

bool CallsFile::add(const calls::Tree& tree, const std::vector<calls::Times>& times,
                    std::uint32_t pid, std::string_view process) {
    if (slices_->add(tree, times, pid, process)) return true;
    ++left_out_;
    return false;
}

Status CallsFile::finish() {
    slices_->sort();
    const std::uint64_t offset_ns = clocks_.boottime_ns - clocks_.monotonic_ns;
    const std::uint64_t first_ns = std::min(slices_->next_due_ns(), clocks_.monotonic_ns);
    write_clocks(*writer_, clocks_, first_ns + offset_ns);
    slices_->write_due(std::numeric_limits<std::uint64_t>::max() - 1);
    TRY(writer_->finish());
    TRY(rename_file(beside_, path_));
    beside_.clear();
    return success();
}

}  // namespace lagtrap::trace
