#include "binaries/code/go_functions.hpp"

#include <elf.h>

#include <algorithm>
#include <optional>
#include <string_view>

namespace lagtrap::binaries {
namespace {

constexpr std::uint32_t magic116 = 0xfffffffa;
constexpr std::uint32_t magic118 = 0xfffffff0;
constexpr std::uint32_t magic120 = 0xfffffff1;
constexpr std::uint64_t max_go_name_bytes = 16'384;
constexpr std::uint8_t flag_assembly = 4;

// Positions of the table's parts, by version.
struct Layout {
    std::size_t header_words;  // in 8-byte words, after the first 8 bytes
    std::size_t entry_bytes;   // size of the numbers in the list of functions
    std::size_t name_at;       // in a function's record
    std::size_t deferreturn_at;
    std::size_t flag_at;
    bool relative;  // addresses are relative to the start of the text
};
constexpr Layout layout116{7, 8, 8, 16, 41, false};
constexpr Layout layout118{8, 4, 4, 12, 37, true};
constexpr Layout layout120{8, 4, 4, 12, 41, true};

const Layout* layout_of(std::uint32_t magic) {
    switch (magic) {
        case magic116: return &layout116;
        case magic118: return &layout118;
        case magic120: return &layout120;
        default: return nullptr;
    }
}

Error damaged_table(const ElfImage& image, std::string_view what) {
    return make_error(ErrorKind::Invalid,
                      image.name() + ": damaged Go function table: " + std::string(what));
}

struct RawTable {
    std::uint64_t address = 0;  // as linked
    std::string content;        // starts with the table; other data may follow
};

// Finds the table by its first 8 bytes, if the C linker placed it among other data.
std::size_t begin_of_table(std::string_view data) {
    // steps of one byte, pointers of eight
    constexpr std::string_view rest_of_header("\0\0\1\x08", 4);
    for (std::size_t at = 0; at + 8 <= data.size(); at += 8)
        if (layout_of(number_at<std::uint32_t>(data, at)) != nullptr &&
            data.substr(at + 4, 4) == rest_of_header)
            return at;
    return std::string_view::npos;
}

Result<RawTable> raw_table(const ElfImage& image) {
    for (const char* const name : {".gopclntab", ".data.rel.ro.gopclntab", ".data.rel.ro"}) {
        const ElfSection* const section = image.find_section(name);
        if (section == nullptr) continue;
        TRY_ASSIGN(std::string content, image.read(*section, max_string_table_bytes));
        const bool own = section->name != ".data.rel.ro";
        const std::size_t begin = own ? 0 : begin_of_table(content);
        if (begin != std::string::npos)
            return RawTable{section->address + begin, content.substr(begin)};
    }
    return make_error(ErrorKind::Unsupported, image.name() + ": has no Go function table");
}

class Table {
  public:
    Table(const ElfImage& image, std::uint64_t address, std::string content, const Layout& layout)
        : image_(image), address_(address), content_(std::move(content)), layout_(layout) {}

    Result<std::vector<GoFunction>> functions() {
        constexpr std::size_t count_word = 0, text_word = 2;
        const std::size_t names_word = layout_.relative ? 3 : 2;
        const std::uint64_t count = word(count_word);
        names_ = word(names_word);
        records_ = word(layout_.header_words - 1);
        if (layout_.relative) {
            TRY_ASSIGN(text_, word(text_word) != 0 ? Result<std::uint64_t>(word(text_word))
                                                   : begin_of_text());
        }
        if (count > max_symbols)
            return make_error(ErrorKind::TooLarge,
                              image_.name() + ": has more than 4 million Go functions");
        if (records_ > content_.size() ||
            (content_.size() - records_) / layout_.entry_bytes < 2 * count + 1)
            return damaged_table(image_, "its list ends early");
        std::vector<GoFunction> functions;
        functions.reserve(count);
        for (std::uint64_t index = 0; index < count; ++index) {
            auto function = function_at(index);
            if (!function) return damaged_table(image_, "a function is outside it");
            functions.push_back(std::move(*function));
        }
        return functions;
    }

  private:
    [[nodiscard]] std::uint64_t word(std::size_t index) const {
        return number_at<std::uint64_t>(content_, 8 + 8 * index);
    }
    [[nodiscard]] std::uint64_t list_at(std::uint64_t index) const {
        const std::size_t at = records_ + index * layout_.entry_bytes;
        return layout_.entry_bytes == 4 ? number_at<std::uint32_t>(content_, at)
                                        : number_at<std::uint64_t>(content_, at);
    }
    // A position-independent program has the address among its relocations; newer linkers omit it.
    [[nodiscard]] Result<std::uint64_t> begin_of_text() const {
        constexpr std::uint64_t text_field = 24;
        if (const auto moved = relocated(address_ + text_field)) return *moved;
        const ElfSection* const text = image_.find_section(".text");
        // Together with C code, Go's code starts somewhere in the middle of the section.
        if (text == nullptr || image_.find_section(".init") != nullptr)
            return make_error(ErrorKind::Unsupported,
                              image_.name() + ": does not say where its Go code begins");
        return text->address;
    }
    // The value that the loader will store at this address.
    [[nodiscard]] std::optional<std::uint64_t> relocated(std::uint64_t address) const {
        const ElfSection* section = image_.find_section(".rela.dyn");
        if (section == nullptr) section = image_.find_section(".rela");
        if (section == nullptr) return std::nullopt;
        const auto entries = image_.read(*section, max_string_table_bytes);
        if (!entries) return std::nullopt;
        for (std::size_t at = 0; at + sizeof(Elf64_Rela) <= entries->size();
             at += sizeof(Elf64_Rela)) {
            const auto entry = number_at<Elf64_Rela>(*entries, at);
            if (entry.r_offset == address && ELF64_R_TYPE(entry.r_info) == R_X86_64_RELATIVE)
                return static_cast<std::uint64_t>(entry.r_addend);
        }
        return std::nullopt;
    }
    [[nodiscard]] std::optional<GoFunction> function_at(std::uint64_t index) const {
        const std::uint64_t begin = list_at(2 * index), end = list_at(2 * index + 2);
        const std::uint64_t record = list_at(2 * index + 1);
        if (end < begin || record > content_.size() - records_ ||
            content_.size() - records_ - record < layout_.flag_at + 1)
            return std::nullopt;
        const std::uint64_t at = records_ + record;
        const std::uint64_t name =
            names_ + number_at<std::uint32_t>(content_, at + layout_.name_at);
        if (name >= content_.size()) return std::nullopt;
        const std::string_view rest = std::string_view(content_).substr(name, max_go_name_bytes);
        GoFunction function{.address = text_ + begin, .size = end - begin, .name = {}};
        function.name = rest.substr(0, rest.find('\0'));
        function.in_assembly =
            (static_cast<std::uint8_t>(content_[at + layout_.flag_at]) & flag_assembly) != 0;
        function.is_left_by_recovery =
            number_at<std::uint32_t>(content_, at + layout_.deferreturn_at) != 0;
        return function;
    }

    const ElfImage& image_;
    std::uint64_t address_;  // of the table
    std::string content_;
    const Layout& layout_;
    std::uint64_t names_ = 0, records_ = 0, text_ = 0;
};

}  // namespace

Result<std::vector<GoFunction>> read_go_functions(const ElfImage& image) {
    constexpr std::size_t max_header_bytes = 8 + 8 * 8;
    TRY_ASSIGN(RawTable raw, raw_table(image));
    if (raw.content.size() < max_header_bytes) return damaged_table(image, "it ends early");
    const Layout* const layout = layout_of(number_at<std::uint32_t>(raw.content, 0));
    if (layout == nullptr)
        return make_error(ErrorKind::Unsupported,
                          image.name() + ": its Go function table has an unknown version");
    TRY_ASSIGN(auto functions,
               Table(image, raw.address, std::move(raw.content), *layout).functions());
    if (!functions.empty() && functions.front().address == 0)
        return make_error(ErrorKind::Unsupported,
                          image.name() + ": does not say where its Go code begins");
    std::stable_sort(
        functions.begin(), functions.end(),
        [](const GoFunction& a, const GoFunction& b) { return a.address < b.address; });
    functions.erase(std::unique(functions.begin(), functions.end(),
                                [](const GoFunction& a, const GoFunction& b) {
                                    return a.address == b.address;
                                }),
                    functions.end());
    return functions;
}

}  // namespace lagtrap::binaries
