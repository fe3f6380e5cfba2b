#include "binaries/unwind/unwind_table.hpp"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <tuple>

#include "binaries/code/linkage_jumps.hpp"
#include "binaries/unwind/call_frame_sections.hpp"
#include "binaries/unwind/unwind_table_builder.hpp"

namespace lagtrap::binaries {
namespace {

constexpr std::uint64_t max_buckets = max_unwind_table_bytes / sizeof(lagtrap_unwind_bucket);

// The code segments that are really in the file, by address.
std::vector<CodeSegment> code_segments(const ElfImage& image) {
    std::vector<CodeSegment> segments;
    for (const ElfSegment& segment : image.segments()) {
        if (segment.type != PT_LOAD || (segment.flags & PF_X) == 0) continue;
        const std::uint64_t size = std::min(segment.file_bytes, segment.memory_bytes);
        std::uint64_t end = 0;
        if (size == 0 || __builtin_add_overflow(segment.address, size, &end)) continue;
        if (!image.read(segment.offset + size - 1, 1, 1)) continue;
        segments.push_back(CodeSegment{segment.offset, segment.address, size});
    }
    std::sort(segments.begin(), segments.end(),
              [](const CodeSegment& a, const CodeSegment& b) { return a.address < b.address; });
    return segments;
}

std::uint64_t end_of(const CallFrameFunction& function) { return function.begin + function.size; }

// The number of code bytes from `address` to the end of its segment.
std::uint64_t code_bytes_from(std::uint64_t address, const std::vector<CodeSegment>& segments) {
    const auto after = std::upper_bound(
        segments.begin(), segments.end(), address,
        [](std::uint64_t value, const CodeSegment& segment) { return value < segment.address; });
    if (after == segments.begin()) return 0;
    const CodeSegment& segment = *(after - 1);
    const std::uint64_t skipped = address - segment.address;
    return skipped < segment.size_bytes ? segment.size_bytes - skipped : 0;
}

// By begin. Of those with the same begin, the shortest comes last, so that it applies where it is.
bool comes_before(const CallFrameFunction& a, const CallFrameFunction& b) {
    return std::tie(a.begin, b.size, a.code_begin) < std::tie(b.begin, a.size, b.code_begin);
}

// All functions, by address; those of `second` only where `first` has none.
std::vector<CallFrameFunction> merged(std::vector<CallFrameFunction> first,
                                      std::vector<CallFrameFunction> second) {
    std::sort(first.begin(), first.end(), comes_before);
    if (second.empty()) return first;
    std::vector<std::uint64_t> ends;  // the maximum end of all functions up to this one
    ends.reserve(first.size());
    for (const auto& function : first)
        ends.push_back(std::max(ends.empty() ? 0 : ends.back(), end_of(function)));
    std::erase_if(second, [&](const CallFrameFunction& function) {
        const auto after =
            std::lower_bound(first.begin(), first.end(), end_of(function),
                             [](const CallFrameFunction& known, std::uint64_t address) {
                                 return known.begin < address;
                             });
        return after != first.begin() &&
               ends[static_cast<std::size_t>(after - first.begin()) - 1] > function.begin;
    });
    first.insert(first.end(), second.begin(), second.end());
    std::sort(first.begin(), first.end(), comes_before);
    return first;
}

// The functions for the table, and the sections with their instructions.
struct Input {
    std::vector<CallFrameSection> sections;
    CallFrameEntries entries;
    std::vector<CallFrameFunction> functions;  // by address
    std::vector<LinkageJump> jumps;            // by address; used where no function applies
};

// Limit for start code: the dynamic linker's, in assembly, has no unwind information.
constexpr std::uint64_t max_start_code_bytes = 64;

// Walks the functions by address. Where functions overlap, the one that begins last applies up to
// its end, then the enclosing one again. Positions are relative to the start of the table.
class Sweep {
  public:
    // Code around `entry` (as linked) that no function covers is the outermost frame of a thread.
    Sweep(const Input& input, std::uint64_t base_address, std::uint64_t entry,
          UnwindTableBuilder& builder)
        : input_(input),
          base_address_(base_address),
          entry_(entry - base_address),
          builder_(builder) {}

    // Skips a function with damaged instructions.
    void add(const CallFrameFunction& function) {
        const std::uint64_t begin = function.begin - base_address_;
        put_until(begin);
        if (active_count_ == active_.size()) active_.emplace_back();
        Active& active = active_[active_count_];
        const CallFrameCie& cie = input_.entries.cies[function.cie];
        const auto code =
            code_of(input_.sections[cie.section], function.code_begin, function.code_end);
        if (!run_program(code, cie, function.begin, function.size, active.rows)) return;
        active.begin = begin;
        active.end = begin + function.size;
        active.next = 0;
        ++active_count_;
    }
    void put_until(std::uint64_t limit);

  private:
    // A function whose end has not been reached.
    struct Active {
        std::uint64_t begin = 0;
        std::uint64_t end = 0;
        std::size_t next = 0;  // index of the row that applied at the last position, or a later one
        std::vector<CallFrameRow> rows;
    };

    void put_rows(Active& active, std::uint64_t stop);
    void put_gap(std::uint64_t limit);
    void put_jumps(std::uint64_t limit);

    const Input& input_;
    std::uint64_t base_address_;
    std::uint64_t entry_;
    UnwindTableBuilder& builder_;
    // the first active_count_ are in use; the others keep their memory
    std::vector<Active> active_;
    std::size_t active_count_ = 0;
    std::uint64_t position_ = 0;
    std::size_t next_jump_ = 0;
};

void Sweep::put_until(std::uint64_t limit) {
    while (position_ < limit && active_count_ > 0) {
        Active& top = active_[active_count_ - 1];
        if (position_ < top.end) put_rows(top, std::min(top.end, limit));
        if (top.end <= position_) --active_count_;
    }
    if (position_ < limit) put_gap(limit);
}

void Sweep::put_gap(std::uint64_t limit) {
    builder_.put(position_, {});
    const bool has_start =
        entry_ >= position_ && entry_ < limit && limit - entry_ <= max_start_code_bytes;
    put_jumps(has_start ? entry_ : limit);
    if (has_start) {
        lagtrap_unwind_rule first_frame{};
        first_frame.kind_and_rbp = LAGTRAP_UNWIND_END;
        builder_.put(entry_, first_frame);
    }
    position_ = limit;
}

// Puts the linkage jumps from here to `limit`.
void Sweep::put_jumps(std::uint64_t limit) {
    constexpr __u8 stack_pointer = 7;
    lagtrap_unwind_rule called{};
    called.kind_and_rbp = LAGTRAP_UNWIND_REGISTER;
    called.cfa_offset = 8;
    called.register_and_add = stack_pointer;
    for (; next_jump_ < input_.jumps.size(); ++next_jump_) {
        const std::uint64_t begin = input_.jumps[next_jump_].begin - base_address_;
        const std::uint64_t end = input_.jumps[next_jump_].end - base_address_;
        if (end > limit) return;
        if (begin < position_) continue;
        builder_.put(begin, called);
        builder_.put(end, {});
    }
}

void Sweep::put_rows(Active& active, std::uint64_t stop) {
    const auto& rows = active.rows;
    const auto start_of = [&](std::size_t row) { return active.begin + rows[row].offset; };
    while (active.next + 1 < rows.size() && start_of(active.next + 1) <= position_) ++active.next;
    builder_.put(position_, rows[active.next].rule);
    while (active.next + 1 < rows.size() && start_of(active.next + 1) < stop) {
        ++active.next;
        builder_.put(start_of(active.next), rows[active.next].rule);
    }
    position_ = stop;
}

Error too_large(const ElfImage& image) {
    return make_error(ErrorKind::TooLarge,
                      image.name() + ": its unwind table would have more than " +
                          std::to_string(max_unwind_table_bytes >> 20) + " MiB");
}

Result<Input> read_input(const ElfImage& image, const std::vector<CodeSegment>& segments) {
    Input input;
    TRY_ASSIGN(input.sections, read_call_frame_sections(image));
    std::vector<CallFrameFunction> by_kind[2];
    bool any_function = false;
    for (std::uint32_t number = 0; number < input.sections.size(); ++number) {
        const auto& section = input.sections[number];
        read_call_frame_entries(section, number, input.entries);
        any_function = any_function || !input.entries.functions.empty();
        auto& functions = by_kind[section.is_debug_frame ? 1 : 0];
        functions = std::move(input.entries.functions);
        input.entries.functions.clear();
        for (auto& function : functions) {
            // In .debug_frame, linkers leave dropped functions at address 0.
            const bool dropped = section.is_debug_frame && function.begin == 0;
            const std::uint64_t most = dropped ? 0 : code_bytes_from(function.begin, segments);
            function.size =
                static_cast<std::uint32_t>(std::min<std::uint64_t>(function.size, most));
        }
        std::erase_if(functions,
                      [](const CallFrameFunction& function) { return function.size == 0; });
    }
    input.functions = merged(std::move(by_kind[0]), std::move(by_kind[1]));
    if (!input.functions.empty()) {
        input.jumps = read_linkage_jumps(image);
        std::erase_if(input.jumps, [&](const LinkageJump& jump) {
            return code_bytes_from(jump.begin, segments) < jump.end - jump.begin;
        });
        return input;
    }
    if (any_function || input.entries.damaged)
        return make_error(ErrorKind::Invalid,
                          image.name() + ": none of its unwind information can be used");
    return make_error(ErrorKind::NotFound, image.name() + ": has no unwind information");
}

struct Reach {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
};

Reach reach_of(const Input& input) {
    Reach reach{input.functions.front().begin, 0};
    for (const auto& function : input.functions) reach.end = std::max(reach.end, end_of(function));
    if (input.jumps.empty()) return reach;
    return {std::min(reach.begin, input.jumps.front().begin),
            std::max(reach.end, input.jumps.back().end)};
}

}  // namespace

Result<UnwindTable> make_unwind_table(const ElfImage& image) {
    if (image.machine() != EM_X86_64)
        return make_error(ErrorKind::Unsupported, image.name() + ": is not for x86-64 (machine " +
                                                      std::to_string(image.machine()) + ")");
    UnwindTable table;
    table.segments = code_segments(image);
    if (table.segments.empty())
        return make_error(ErrorKind::NotFound, image.name() + ": has no code");
    {
        TRY_ASSIGN(const Input input, read_input(image, table.segments));
        const auto [begin, end] = reach_of(input);
        table.base_address = begin - begin % LAGTRAP_UNWIND_BUCKET_BYTES;
        const std::uint64_t buckets =
            (end - table.base_address - 1) / LAGTRAP_UNWIND_BUCKET_BYTES + 1;
        if (buckets > max_buckets) return too_large(image);
        UnwindTableBuilder builder(static_cast<std::uint32_t>(buckets));
        Sweep sweep(input, table.base_address, image.entry(), builder);
        for (const auto& function : input.functions) {
            sweep.add(function);
            if (builder.too_large()) return too_large(image);
        }
        sweep.put_until(buckets * LAGTRAP_UNWIND_BUCKET_BYTES);
        if (builder.too_large()) return too_large(image);
        builder.finish(table);
    }
    std::sort(
        table.segments.begin(), table.segments.end(),
        [](const CodeSegment& a, const CodeSegment& b) { return a.file_offset < b.file_offset; });
    return table;
}

lagtrap_unwind_rule find_unwind_rule(const UnwindTable& table, std::uint64_t address) {
    const auto* const bytes = reinterpret_cast<const char*>(table.pages.data());
    const auto at = [bytes](auto value, std::uint64_t page, std::uint64_t index) {
        std::memcpy(&value, bytes + page * LAGTRAP_UNWIND_PAGE_BYTES + index * sizeof value,
                    sizeof value);
        return value;
    };
    const std::uint64_t offset = address - table.base_address;
    const std::uint64_t bucket_number = offset / LAGTRAP_UNWIND_BUCKET_BYTES;
    if (address < table.base_address || bucket_number >= table.bucket_count) return {};
    const auto bucket = at(lagtrap_unwind_bucket{}, 0, bucket_number);
    const std::uint32_t place = offset % LAGTRAP_UNWIND_BUCKET_BYTES;
    std::uint32_t first = 0;  // the wanted row is in [first, first + left)
    for (std::uint32_t left = bucket.row_count; left > 1;) {
        const std::uint32_t half = left / 2;
        const auto row = at(__u32{}, 0, std::uint64_t{bucket.first_row} + first + half);
        if (row >> LAGTRAP_UNWIND_RULE_BITS <= place) first += half;
        left -= half;
    }
    if (bucket.row_count == 0) return {};
    const auto row = at(__u32{}, 0, std::uint64_t{bucket.first_row} + first);
    return at(lagtrap_unwind_rule{}, table.rule_page, row % LAGTRAP_UNWIND_MAX_RULES);
}

}  // namespace lagtrap::binaries
