// Interned data of one packet sequence: the numbers that stand for names, frames and stacks until
// the sequence clears them. For analysis/ only.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <protozero/data_view.hpp>

#include "analysis/raw_trace.hpp"
#include "core/text.hpp"

namespace lagtrap::analysis {

[[nodiscard]] inline std::string_view view_of(protozero::data_view data) {
    return {data.data(), data.size()};
}

inline constexpr std::size_t device_length_limit = 64;

// The text, made printable, and truncated to this many bytes.
[[nodiscard]] inline NameId interned(std::string_view text, std::size_t limit_bytes,
                                     RawTrace& trace) {
    return trace.intern(printable(text.substr(0, limit_bytes)));
}

class Interning {
  public:
    // Forgets everything, as required by a packet with "incremental state cleared".
    void clear() { *this = Interning(); }
    // Adds an InternedData message. Throws protozero::exception if it is damaged.
    void add(protozero::data_view interned_data, RawTrace& trace);

    // nullopt if the sequence has not defined this number.
    [[nodiscard]] std::optional<StackId> stack(std::uint64_t id) const { return find(stacks_, id); }
    [[nodiscard]] std::optional<NameId> category(std::uint64_t id) const {
        return find(categories_, id);
    }
    [[nodiscard]] std::optional<NameId> event_name(std::uint64_t id) const {
        return find(event_names_, id);
    }
    [[nodiscard]] std::optional<NameId> annotation_name(std::uint64_t id) const {
        return find(annotation_names_, id);
    }
    [[nodiscard]] std::optional<NameId> annotation_string(std::uint64_t id) const {
        return find(annotation_strings_, id);
    }

  private:
    using Ids = std::unordered_map<std::uint64_t, std::uint32_t>;
    static std::optional<std::uint32_t> find(const Ids& ids, std::uint64_t id);
    void add_name(protozero::data_view message, Ids& ids, RawTrace& trace);
    void add_build_id(protozero::data_view message, RawTrace& trace);
    void add_mapping(protozero::data_view message, RawTrace& trace);
    void add_frame(protozero::data_view message, RawTrace& trace);
    void add_stack(protozero::data_view message, RawTrace& trace);

    Ids categories_, event_names_, annotation_names_, annotation_strings_;
    Ids functions_, paths_, sources_, build_ids_, frames_, stacks_;
    struct Mapping {
        NameId path = 0;
        NameId build_id = 0;
        std::uint64_t load_bias = 0;
    };
    std::unordered_map<std::uint64_t, Mapping> mappings_;
};

}  // namespace lagtrap::analysis
