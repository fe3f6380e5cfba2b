#include <zstd.h>

#include <algorithm>
#include <optional>
#include <unordered_map>

#include <protozero/exception.hpp>
#include <protozero/pbf_reader.hpp>
#include <protozero/pbf_writer.hpp>

#include "analysis/run_profile.hpp"
#include "analysis/trace_fields.hpp"
#include "core/text.hpp"

namespace lagtrap::analysis {

namespace {

using protozero::pbf_reader;
using protozero::pbf_writer;

constexpr char version = 1;
constexpr int compression_level = 3;
constexpr std::size_t entry_limit = 16'384;
constexpr std::size_t link_limit = 64;      // per entry
constexpr std::size_t name_limit = 65'536;  // frames, and texts
constexpr std::size_t node_limit = 1 << 20;
constexpr std::size_t text_limit_bytes = 4096;

// Field numbers of the message. Entries are one array of numbers: time, number of links, and for
// each link its kind, reason, thread and node. Node 0 is not written; for the other nodes, the
// distance to the parent and the frame are.
enum Field : std::uint32_t {
    event_field = 1,
    process_field = 2,
    run_id_field = 3,
    begin_field = 4,
    duration_field = 5,
    threshold_field = 6,
    delay_field = 7,
    pid_field = 8,
    tid_field = 9,
    frame_field = 10,
    parents_field = 11,
    node_frames_field = 12,
    text_field = 13,
    entries_field = 14,
    waits_cut_field = 15,
};
enum FrameField : std::uint32_t { function_field = 1, module_field = 2, kernel_field = 3 };

std::string short_text(const std::string& text) { return text.substr(0, text_limit_bytes); }

std::string message_of(const RunProfile& profile) {
    std::string message;
    pbf_writer writer(message);
    writer.add_string(event_field, short_text(profile.event));
    writer.add_string(process_field, short_text(profile.process));
    writer.add_uint64(run_id_field, profile.run_id);
    writer.add_uint64(begin_field, profile.begin_ns);
    writer.add_uint64(duration_field, profile.duration_ns);
    writer.add_uint64(threshold_field, profile.threshold_ns);
    writer.add_bool(delay_field, profile.delay);
    writer.add_uint32(pid_field, profile.pid);
    writer.add_uint32(tid_field, profile.tid);
    for (const ProfileFrame& frame : profile.frames) {
        pbf_writer part(writer, frame_field);
        part.add_string(function_field, short_text(frame.function));
        part.add_string(module_field, short_text(frame.module));
        if (frame.kernel) part.add_bool(kernel_field, true);
    }
    std::vector<std::uint32_t> parents;
    std::vector<std::uint32_t> frames;
    for (std::uint32_t i = 1; i < profile.nodes.size(); ++i) {
        parents.push_back(i - profile.nodes[i].parent);
        frames.push_back(profile.nodes[i].frame);
    }
    writer.add_packed_uint32(parents_field, parents.begin(), parents.end());
    writer.add_packed_uint32(node_frames_field, frames.begin(), frames.end());
    for (std::size_t i = 1; i < profile.texts.size(); ++i)
        writer.add_string(text_field, short_text(profile.texts[i]));
    std::vector<std::uint64_t> entries;
    for (const ProfileEntry& entry : profile.entries) {
        entries.insert(entries.end(), {entry.time_ns, entry.links.size()});
        for (const ProfileLink& link : entry.links) {
            entries.insert(entries.end(), {static_cast<std::uint64_t>(link.kind), link.reason,
                                           link.thread, link.node});
        }
    }
    writer.add_packed_uint64(entries_field, entries.begin(), entries.end());
    if (profile.waits_cut > 0) writer.add_uint64(waits_cut_field, profile.waits_cut);
    return message;
}

// The same profile, with stacks only for its `kept` longest entries.
class Shortener {
  public:
    Shortener(const RunProfile& from, std::size_t kept) : from_(from), result_(from) {
        result_.frames.clear();
        result_.nodes.assign(1, {});
        result_.entries.clear();
        // by kind and reason: index of the entry
        std::unordered_map<std::uint64_t, std::size_t> rests;
        for (std::size_t i = 0; i < from.entries.size(); ++i) {
            ProfileEntry entry = from.entries[i];
            if (i < kept) {
                for (ProfileLink& link : entry.links) link.node = node_of(link.node);
                result_.entries.push_back(std::move(entry));
                continue;
            }
            if (entry.links.size() > 1) ++result_.waits_cut;
            entry.links.resize(1);
            entry.links[0].node = 0;
            const auto key =
                static_cast<std::uint64_t>(entry.links[0].kind) << 32 | entry.links[0].reason;
            const auto [place, added] = rests.try_emplace(key, result_.entries.size());
            if (added) {
                result_.entries.push_back(std::move(entry));
            } else {
                result_.entries[place->second].time_ns += entry.time_ns;
            }
        }
        std::stable_sort(
            result_.entries.begin(), result_.entries.end(),
            [](const ProfileEntry& a, const ProfileEntry& b) { return a.time_ns > b.time_ns; });
    }
    RunProfile take() { return std::move(result_); }

  private:
    std::uint32_t node_of(std::uint32_t node) {
        std::vector<std::uint32_t> missing;
        for (; node != 0 && !nodes_.contains(node); node = from_.nodes[node].parent)
            missing.push_back(node);
        std::uint32_t at = node == 0 ? 0 : nodes_[node];
        for (auto place = missing.rbegin(); place != missing.rend(); ++place) {
            const std::uint32_t frame = from_.nodes[*place].frame;
            const auto [known, added] =
                frames_.try_emplace(frame, static_cast<std::uint32_t>(result_.frames.size()));
            if (added) result_.frames.push_back(from_.frames[frame]);
            result_.nodes.push_back({at, known->second});
            at = static_cast<std::uint32_t>(result_.nodes.size() - 1);
            nodes_[*place] = at;
        }
        return at;
    }

    const RunProfile& from_;
    RunProfile result_;
    std::unordered_map<std::uint32_t, std::uint32_t> nodes_;
    std::unordered_map<std::uint32_t, std::uint32_t> frames_;
};

Error invalid(const std::string& what) {
    return make_error(ErrorKind::Invalid, "the profile of a run " + what);
}

Result<std::string> unpack(std::string_view bytes) {
    if (bytes.size() > run_profile_limit_bytes) {
        return make_error(ErrorKind::TooLarge,
                          "the profile of a run has " + std::to_string(bytes.size()) +
                              " bytes; at most " + std::to_string(run_profile_limit_bytes) +
                              " are allowed");
    }
    if (bytes.empty()) return invalid("is empty");
    if (bytes.front() != version) {
        return make_error(ErrorKind::Unsupported,
                          "the profile of a run has version " +
                              std::to_string(static_cast<unsigned char>(bytes.front())) +
                              "; this program reads version 1");
    }
    bytes.remove_prefix(1);
    const auto size = ZSTD_getFrameContentSize(bytes.data(), bytes.size());
    if (size == ZSTD_CONTENTSIZE_ERROR || size == ZSTD_CONTENTSIZE_UNKNOWN)
        return invalid("is not a zstd frame with a known size");
    if (size > run_profile_unpacked_limit_bytes) {
        return make_error(ErrorKind::TooLarge,
                          "the profile of a run unpacks to " + std::to_string(size) +
                              " bytes; at most " +
                              std::to_string(run_profile_unpacked_limit_bytes) + " are allowed");
    }
    std::string message(size, '\0');
    const std::size_t got =
        ZSTD_decompress(message.data(), message.size(), bytes.data(), bytes.size());
    if (ZSTD_isError(got) != 0)
        return invalid(std::string("is damaged: ") + ZSTD_getErrorName(got));
    if (got != size) return invalid("is damaged: it unpacks to less than its header states");
    return message;
}

class Reader {
  public:
    Result<RunProfile> read(std::string_view message) {
        try {
            pbf_reader reader(message.data(), message.size());
            while (reader.next()) {
                take(reader);
                if (!is_small()) return invalid("has too many names or calls");
            }
        } catch (const protozero::exception& problem) {
            return invalid(std::string("is damaged: ") + problem.what());
        }
        TRY(add_nodes());
        TRY(add_entries());
        return std::move(profile_);
    }

  private:
    [[nodiscard]] bool is_small() const {
        return profile_.frames.size() <= name_limit && profile_.texts.size() <= name_limit &&
               parents_.size() <= node_limit && node_frames_.size() <= node_limit;
    }

    static std::string text(pbf_reader& reader) {
        const auto view = reader.get_view();
        return printable(std::string_view(view.data(), std::min(view.size(), text_limit_bytes)));
    }

    void take(pbf_reader& reader) {
        switch (reader.tag_and_type()) {
            case fields::bytes(event_field): profile_.event = text(reader); break;
            case fields::bytes(process_field): profile_.process = text(reader); break;
            case fields::varint(run_id_field): profile_.run_id = reader.get_uint64(); break;
            case fields::varint(begin_field): profile_.begin_ns = reader.get_uint64(); break;
            case fields::varint(duration_field): profile_.duration_ns = reader.get_uint64(); break;
            case fields::varint(threshold_field):
                profile_.threshold_ns = reader.get_uint64();
                break;
            case fields::varint(delay_field): profile_.delay = reader.get_uint32() != 0; break;
            case fields::varint(pid_field): profile_.pid = reader.get_uint32(); break;
            case fields::varint(tid_field): profile_.tid = reader.get_uint32(); break;
            case fields::bytes(frame_field): take_frame(reader.get_view()); break;
            case fields::bytes(parents_field):
                take_numbers(reader.get_packed_uint32(), parents_);
                break;
            case fields::bytes(node_frames_field):
                take_numbers(reader.get_packed_uint32(), node_frames_);
                break;
            case fields::bytes(text_field): profile_.texts.push_back(text(reader)); break;
            case fields::bytes(entries_field):
                take_numbers(reader.get_packed_uint64(), numbers_);
                break;
            case fields::varint(waits_cut_field): profile_.waits_cut = reader.get_uint64(); break;
            default: reader.skip();
        }
    }

    void take_frame(protozero::data_view message) {
        ProfileFrame frame;
        pbf_reader reader(message);
        while (reader.next()) {
            switch (reader.tag_and_type()) {
                case fields::bytes(function_field): frame.function = text(reader); break;
                case fields::bytes(module_field): frame.module = text(reader); break;
                case fields::varint(kernel_field): frame.kernel = reader.get_uint32() != 0; break;
                default: reader.skip();
            }
        }
        profile_.frames.push_back(std::move(frame));
    }

    template <typename Range, typename Number>
    static void take_numbers(const Range& range, std::vector<Number>& numbers) {
        numbers.assign(range.begin(), range.end());
    }

    Status add_nodes() {
        if (parents_.size() != node_frames_.size()) return invalid("has calls without a caller");
        profile_.nodes.reserve(parents_.size() + 1);
        for (std::uint32_t i = 0; i < parents_.size(); ++i) {
            const std::uint32_t distance = parents_[i];
            if (distance == 0 || distance > i + 1)
                return invalid("has a call that precedes its caller");
            if (node_frames_[i] >= profile_.frames.size())
                return invalid("has a call of an unknown function");
            profile_.nodes.push_back({i + 1 - distance, node_frames_[i]});
        }
        return success();
    }

    Status add_entries() {
        std::uint64_t left_ns = profile_.duration_ns;
        std::size_t at = 0;
        while (at < numbers_.size()) {
            if (profile_.entries.size() >= entry_limit)
                return invalid("has more than 16384 entries");
            if (numbers_.size() - at < 2) return invalid("ends within an entry");
            ProfileEntry entry;
            entry.time_ns = numbers_[at];
            const std::uint64_t links = numbers_[at + 1];
            at += 2;
            if (links == 0 || links > link_limit || links * 4 > numbers_.size() - at) {
                return invalid("has an entry of " + std::to_string(links) + " links");
            }
            for (std::uint64_t i = 0; i < links; ++i, at += 4) TRY(add_link(at, entry));
            if (entry.time_ns > left_ns) return invalid("has entries that are longer than the run");
            left_ns -= entry.time_ns;
            profile_.entries.push_back(std::move(entry));
        }
        if (left_ns > 0) return invalid("has entries that are shorter than the run");
        return success();
    }

    Status add_link(std::size_t at, ProfileEntry& entry) {
        const std::uint64_t kind = numbers_[at];
        const bool known = kind <= static_cast<std::uint64_t>(TimeKind::Blocked);
        const std::size_t texts = profile_.texts.size();
        if (!known || numbers_[at + 1] >= texts || numbers_[at + 2] >= texts ||
            numbers_[at + 3] >= profile_.nodes.size()) {
            return invalid("refers to missing data");
        }
        entry.links.push_back({static_cast<TimeKind>(kind),
                               static_cast<std::uint32_t>(numbers_[at + 1]),
                               static_cast<std::uint32_t>(numbers_[at + 2]),
                               static_cast<std::uint32_t>(numbers_[at + 3])});
        return success();
    }

    RunProfile profile_;
    std::vector<std::uint32_t> parents_;
    std::vector<std::uint32_t> node_frames_;
    std::vector<std::uint64_t> numbers_;
};

bool is_small(const RunProfile& profile) {
    return profile.entries.size() <= entry_limit && profile.frames.size() <= name_limit &&
           profile.texts.size() <= name_limit && profile.nodes.size() <= node_limit;
}

// nullopt if too large.
std::optional<std::string> message_within_limits(const RunProfile& profile) {
    if (!is_small(profile)) return std::nullopt;
    std::string message = message_of(profile);
    if (message.size() > run_profile_unpacked_limit_bytes) return std::nullopt;
    return message;
}

Result<std::string> pack(const std::string& message) {
    std::string bytes(1 + ZSTD_compressBound(message.size()), version);
    const std::size_t size = ZSTD_compress(bytes.data() + 1, bytes.size() - 1, message.data(),
                                           message.size(), compression_level);
    if (ZSTD_isError(size) != 0)
        return invalid(std::string("cannot be packed: ") + ZSTD_getErrorName(size));
    bytes.resize(1 + size);
    return bytes;
}

}  // namespace

Result<std::string> write_run_profile(const RunProfile& profile) {
    // Leave room for the rest, which has one entry per kind and reason.
    constexpr std::size_t room_for_rest = 256;
    std::size_t kept = profile.entries.size();
    if (kept > entry_limit) kept = entry_limit - room_for_rest;
    for (;; kept /= 2) {
        const bool whole = kept == profile.entries.size();
        const auto message =
            message_within_limits(whole ? profile : Shortener(profile, kept).take());
        if (message) {
            auto bytes = pack(*message);
            if (!bytes || bytes->size() <= run_profile_limit_bytes) return bytes;
        }
        if (kept == 0)
            return make_error(ErrorKind::TooLarge, "the profile of a run has too many names");
    }
}

Result<RunProfile> read_run_profile(std::string_view bytes) {
    auto message = unpack(bytes);
    if (!message) return message.error();
    return Reader().read(*message);
}

}  // namespace lagtrap::analysis
