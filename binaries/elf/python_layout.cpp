#include "binaries/elf/python_layout.hpp"

#include <elf.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <optional>

#include "binaries/elf/elf_table.hpp"

namespace lagtrap::binaries {
namespace {

// Addresses as linked.
struct PythonSymbols {
    std::optional<std::uint64_t> runtime, code_type, version;
    [[nodiscard]] bool complete() const { return runtime && code_type && version; }
};

Status find_symbols(const ElfImage& image, const ElfSection& section, PythonSymbols& found) {
    if (section.link >= image.sections().size())
        return image.damaged(section.name + " names a missing string table");
    TRY_ASSIGN(const std::string names,
               image.read(image.sections()[section.link], max_string_table_bytes));
    return for_each_entry<Elf64_Sym>(
        image, section, max_symbols, [&](const Elf64_Sym& symbol, std::uint64_t) {
            if (ELF64_ST_TYPE(symbol.st_info) != STT_OBJECT || symbol.st_shndx == SHN_UNDEF)
                return true;
            const std::string_view name = text_at(names, symbol.st_name);
            if (name == "_PyRuntime") found.runtime = symbol.st_value;
            if (name == "PyCode_Type") found.code_type = symbol.st_value;
            if (name == "Py_Version") found.version = symbol.st_value;
            return !found.complete();
        });
}

Result<PythonSymbols> symbols_of(const ElfImage& image) {
    for (const std::uint32_t type : {SHT_DYNSYM, SHT_SYMTAB}) {
        PythonSymbols found;
        for (const ElfSection& section : image.sections())
            if (section.type == type) TRY(find_symbols(image, section, found));
        if (found.complete()) return found;
    }
    return make_error(ErrorKind::NotFound, image.name() + ": no Python interpreter");
}

Result<std::string> bytes_at(const ElfImage& image, std::uint64_t address, std::uint64_t bytes) {
    for (const ElfSegment& segment : image.segments()) {
        const std::uint64_t offset = address - segment.address;
        if (segment.type == PT_LOAD && address >= segment.address && offset < segment.file_bytes &&
            bytes <= segment.file_bytes - offset)
            return image.read(segment.offset + offset, bytes, bytes);
    }
    return image.damaged("a variable outside its segments");
}

// As in the headers of these versions.
lagtrap_python layout_of_3_11() {
    lagtrap_python layout{};
    layout.interpreters = 40;
    layout.threads = 16;
    layout.next_thread = 8;
    layout.thread_ident = 152;
    layout.thread_frame = 56;
    layout.call_frame = 8;
    layout.call_previous = 16;
    layout.frame_code = 32;
    layout.frame_previous = 48;
    layout.frame_entry = 68;
    layout.code_name = 128;
    layout.code_path = 112;
    layout.code_line = 72;
    layout.ascii_text = 48;
    layout.other_text = 72;
    layout.has_calls = 1;
    return layout;
}

lagtrap_python layout_of_3_12() {
    lagtrap_python layout = layout_of_3_11();
    layout.threads = 72;
    layout.thread_ident = 136;
    layout.call_frame = 0;
    layout.call_previous = 8;
    layout.frame_code = 0;
    layout.frame_previous = 8;
    layout.frame_entry = 70;
    layout.code_line = 68;
    layout.ascii_text = 40;
    layout.other_text = 56;
    layout.has_own_entry = 1;
    return layout;
}

// What _PyRuntime begins with in 3.13.
struct DebugOffsets {
    std::array<char, 8> cookie;
    std::uint64_t version, free_threaded;
    std::uint64_t runtime_size, finalizing, interpreters_head;
    std::uint64_t interpreter_size, interpreter_id, interpreter_next, threads_head;
    std::array<std::uint64_t, 9> of_interpreters;
    std::uint64_t thread_size, thread_previous, thread_next, thread_interpreter, current_frame,
        thread_id;
    std::array<std::uint64_t, 3> of_threads;
    std::uint64_t frame_size, frame_previous, frame_executable;
    std::array<std::uint64_t, 2> of_frames;
    std::uint64_t frame_owner;
    std::uint64_t code_size, code_path, code_short_name, code_name, code_lines, code_first_line;
};
static_assert(offsetof(DebugOffsets, interpreters_head) == 40);
static_assert(offsetof(DebugOffsets, threads_head) == 72);
static_assert(offsetof(DebugOffsets, thread_id) == 192);
static_assert(offsetof(DebugOffsets, frame_owner) == 264);
static_assert(offsetof(DebugOffsets, code_first_line) == 312);

// What the walk reads of a frame at once: 72 bytes, the last 8 of them single.
bool is_word_of_frame(std::uint64_t offset) { return offset % 8 == 0 && offset < 64; }

Result<lagtrap_python> layout_of_3_13(const ElfImage& image, std::uint64_t runtime) {
    TRY_ASSIGN(const std::string bytes, bytes_at(image, runtime, sizeof(DebugOffsets)));
    const auto offsets = number_at<DebugOffsets>(bytes, 0);
    constexpr std::array<char, 8> cookie{'x', 'd', 'e', 'b', 'u', 'g', 'p', 'y'};
    if (offsets.cookie != cookie) return image.damaged("Python does not describe itself");
    if (offsets.free_threaded != 0)
        return make_error(ErrorKind::Unsupported, image.name() + ": Python without its lock");
    lagtrap_python layout = layout_of_3_12();
    layout.has_calls = 0;
    bool fits = is_word_of_frame(offsets.frame_executable) &&
                is_word_of_frame(offsets.frame_previous) && offsets.frame_owner / 8 == 8;
    const auto set = [&fits](__u16& offset, std::uint64_t value) {
        fits = fits && value <= std::numeric_limits<__u16>::max();
        offset = static_cast<__u16>(value);
    };
    set(layout.interpreters, offsets.interpreters_head);
    set(layout.threads, offsets.threads_head);
    set(layout.next_thread, offsets.thread_next);
    set(layout.thread_ident, offsets.thread_id);
    set(layout.thread_frame, offsets.current_frame);
    set(layout.frame_code, offsets.frame_executable);
    set(layout.frame_previous, offsets.frame_previous);
    set(layout.frame_entry, offsets.frame_owner);
    set(layout.code_name, offsets.code_name);
    set(layout.code_path, offsets.code_path);
    set(layout.code_line, offsets.code_first_line);
    if (!fits) return image.damaged("Python describes itself with impossible offsets");
    return layout;
}

}  // namespace

Result<lagtrap_python> find_python_layout(const ElfImage& image) {
    TRY_ASSIGN(const PythonSymbols symbols, symbols_of(image));
    const auto code = std::find_if(
        image.segments().begin(), image.segments().end(), [](const ElfSegment& segment) {
            return segment.type == PT_LOAD && (segment.flags & PF_X) != 0;
        });
    if (image.machine() != EM_X86_64 || code == image.segments().end())
        return make_error(ErrorKind::Unsupported, image.name() + ": not for this machine");
    TRY_ASSIGN(const std::string version_bytes,
               bytes_at(image, *symbols.version, sizeof(std::uint64_t)));
    lagtrap_python layout{};
    switch (number_at<std::uint64_t>(version_bytes, 0) >> 16) {  // PY_VERSION_HEX
        case 0x030b: layout = layout_of_3_11(); break;
        case 0x030c: layout = layout_of_3_12(); break;
        case 0x030d: {
            TRY_ASSIGN(layout, layout_of_3_13(image, *symbols.runtime));
            break;
        }
        default:
            return make_error(ErrorKind::Unsupported, image.name() + ": another version of Python");
    }
    layout.runtime = *symbols.runtime - code->address + code->offset;
    layout.code_type = *symbols.code_type - code->address + code->offset;
    return layout;
}

bool may_be_python(std::string_view path) {
    std::string_view name = path.substr(path.rfind('/') + 1);
    if (name.starts_with("lib")) name.remove_prefix(3);
    constexpr std::array<std::string_view, 3> versions{"python3.11", "python3.12", "python3.13"};
    return std::any_of(versions.begin(), versions.end(), [&](std::string_view version) {
        return name == version ||
               (name.starts_with(version) && name.substr(version.size()).starts_with(".so"));
    });
}

}  // namespace lagtrap::binaries
