#include "binaries/usdt/usdt_notes.hpp"

#include <elf.h>

#include <optional>

namespace lagtrap::binaries {
namespace {

constexpr std::uint32_t stapsdt_note_type = 3;
constexpr std::size_t max_note_bytes = 64 << 10;
constexpr std::size_t addresses_bytes = 3 * sizeof(std::uint64_t);

// Removes the text up to the next NUL from `rest`; nullopt if there is no NUL.
std::optional<std::string> take_text(std::string_view& rest) {
    const std::size_t end = rest.find('\0');
    if (end == std::string_view::npos) return std::nullopt;
    std::string text(rest.substr(0, end));
    rest.remove_prefix(end + 1);
    return text;
}

// nullopt if it is damaged. `base` is the current address of .stapsdt.base: prelinking moves it
// with the code, but leaves the addresses in notes unchanged.
std::optional<UsdtProbe> parse_probe(std::string_view description,
                                     std::optional<std::uint64_t> base) {
    if (description.size() < addresses_bytes) return std::nullopt;
    const auto address = number_at<std::uint64_t>(description, 0);
    const auto noted_base = number_at<std::uint64_t>(description, 8);
    const auto semaphore = number_at<std::uint64_t>(description, 16);
    std::string_view rest = description.substr(addresses_bytes);
    auto provider = take_text(rest);
    auto name = take_text(rest);
    auto arguments = take_text(rest);
    if (!provider || !name || !arguments || provider->empty() || name->empty()) return std::nullopt;
    const std::uint64_t moved = base && noted_base != 0 ? *base - noted_base : 0;
    UsdtProbe probe;
    probe.provider = std::move(*provider);
    probe.name = std::move(*name);
    probe.address = address + moved;
    probe.semaphore = semaphore == 0 ? 0 : semaphore + moved;
    probe.argument_count = static_cast<std::uint32_t>(split_usdt_arguments(*arguments).size());
    probe.places = parse_usdt_arguments(*arguments);
    probe.arguments = std::move(*arguments);
    return probe;
}

Status read_notes(const ElfImage& image, const ElfSection& section,
                  std::optional<std::uint64_t> base, std::vector<UsdtProbe>& probes) {
    TRY_ASSIGN(const std::string notes, image.read(section, max_notes_bytes));
    const auto damaged = [&](const std::string& what) {
        return make_error(ErrorKind::Invalid, image.name() + ": damaged .note.stapsdt: " + what);
    };
    Status status = success();
    const bool whole = for_each_note(notes, section.alignment, [&](const ElfNote& note) {
        if (note.name != "stapsdt" || note.type != stapsdt_note_type) return true;
        if (note.description.size() > max_note_bytes) {
            status = make_error(ErrorKind::TooLarge, image.name() + ": a USDT note of " +
                                                         std::to_string(note.description.size()) +
                                                         " bytes; at most 65536 are read");
        } else if (probes.size() >= max_usdt_probes) {
            status = make_error(ErrorKind::TooLarge,
                                image.name() + ": has more than 100000 USDT probes");
        } else if (auto probe = parse_probe(note.description, base)) {
            probes.push_back(std::move(*probe));
        } else {
            status = damaged("probe " + std::to_string(probes.size() + 1) +
                             " has no addresses, provider or name");
        }
        return status.ok();
    });
    if (status && !whole) return damaged("a note is longer than its section");
    return status;
}

}  // namespace

Result<std::vector<UsdtProbe>> read_usdt_probes(const ElfImage& image) {
    std::optional<std::uint64_t> base;
    for (const auto& section : image.sections())
        if (section.name == ".stapsdt.base") base = section.address;
    std::vector<UsdtProbe> probes;
    for (const auto& section : image.sections())
        if (section.name == ".note.stapsdt" && section.type == SHT_NOTE)
            TRY(read_notes(image, section, base, probes));
    return probes;
}

}  // namespace lagtrap::binaries
