#include "daemon/objects/object_vtables.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <map>
#include <set>
#include <sstream>
#include <utility>

#include "binaries/elf/program_file.hpp"

namespace lagtrap::daemon {
namespace {

constexpr std::size_t max_words = 1 << 20;
constexpr std::size_t word_bytes = 8;
constexpr std::size_t name_words = 32;
constexpr std::size_t max_slots = 1024;
constexpr unsigned max_bases = 64;

// A type_info object (Itanium C++ ABI, 2.9.4): pointer to its own virtual table, name, and for a
// class with one base, that base's type.
struct Type {
    std::uint64_t name_address = 0, base = 0;
    std::string name;  // empty if it is not a class
};

struct Table {
    std::uint64_t type = 0;
    std::vector<std::uint64_t> functions;
};

std::uint64_t number_of(std::string_view digits) {
    std::uint64_t number = 0;
    (void)std::from_chars(digits.data(), digits.data() + digits.size(), number, 16);
    return number;
}

Result<std::vector<std::uint64_t>> read_all(ProcessInspector& inspector, std::uint32_t pid,
                                            const std::vector<std::uint64_t>& addresses) {
    std::vector<std::uint64_t> words;
    for (std::size_t at = 0; at < addresses.size(); at += inspected_words_limit) {
        const auto from = addresses.begin() + static_cast<std::ptrdiff_t>(at);
        const auto count = std::min(inspected_words_limit, addresses.size() - at);
        TRY_ASSIGN(const auto part,
                   inspector.read_words(pid, {from, from + static_cast<std::ptrdiff_t>(count)}));
        words.insert(words.end(), part.begin(), part.end());
    }
    return words;
}

// Tables have an offset to top of 0, a type, and at least one function.
std::vector<Table> tables_in(const std::vector<std::uint64_t>& words,
                             const std::function<bool(std::uint64_t)>& is_code) {
    std::vector<Table> tables;
    for (std::size_t at = 0; at + 2 < words.size(); ++at) {
        const std::uint64_t type = words[at + 1];
        if (words[at] != 0 || type == 0 || type % word_bytes != 0 || is_code(type) ||
            !is_code(words[at + 2]))
            continue;
        Table table{type, {}};
        for (std::size_t slot = at + 2;
             slot < words.size() && is_code(words[slot]) && table.functions.size() < max_slots;
             ++slot)
            table.functions.push_back(words[slot]);
        tables.push_back(std::move(table));
    }
    return tables;
}

// "shop::Item"; empty if the words are not the name of a class.
std::string class_name_of(const std::vector<std::uint64_t>& words, std::size_t first) {
    char text[name_words * word_bytes];
    std::memcpy(text, words.data() + first, sizeof text);
    std::string_view mangled(text, ::strnlen(text, sizeof text));
    if (mangled.size() == sizeof text) return {};
    if (mangled.starts_with('*')) mangled.remove_prefix(1);  // the name is local to one file
    constexpr std::string_view prefix = "typeinfo name for ";
    const std::string name = binaries::demangle("_ZTS" + std::string(mangled));
    return name.starts_with(prefix) ? name.substr(prefix.size()) : std::string();
}

Result<std::map<std::uint64_t, Type>> read_types(ProcessInspector& inspector, std::uint32_t pid,
                                                 const std::vector<Table>& tables) {
    std::map<std::uint64_t, Type> types;
    for (const Table& table : tables) types.emplace(table.type, Type{});
    std::vector<std::uint64_t> addresses;
    for (const auto& [address, type] : types)
        for (const std::size_t word : {1, 2}) addresses.push_back(address + word * word_bytes);
    TRY_ASSIGN(const auto words, read_all(inspector, pid, addresses));
    addresses.clear();
    std::size_t at = 0;
    for (auto& [address, type] : types) {
        type.name_address = words[at++];
        type.base = words[at++];
        for (std::size_t word = 0; word < name_words; ++word)
            addresses.push_back(type.name_address + word * word_bytes);
    }
    TRY_ASSIGN(const auto names, read_all(inspector, pid, addresses));
    at = 0;
    for (auto& [address, type] : types) {
        if (type.name_address != 0) type.name = class_name_of(names, at);
        at += name_words;
    }
    return types;
}

unsigned bases_of(const std::map<std::uint64_t, Type>& types, std::uint64_t type) {
    unsigned bases = 0;
    for (auto known = types.find(type); known != types.end() && bases < max_bases;
         known = types.find(known->second.base))
        ++bases;
    return bases;
}

}  // namespace

std::vector<AddressRange> relocated_data(const std::string& maps, std::uint64_t inode) {
    std::vector<AddressRange> ranges;
    AddressRange only_read;
    bool code_came = false;
    std::istringstream lines(maps);
    for (std::string line; std::getline(lines, line);) {
        std::istringstream fields(line);
        std::string range, rights, offset, device;
        std::uint64_t of_inode = 0;
        fields >> range >> rights >> offset >> device >> of_inode;
        const std::size_t dash = range.find('-');
        if (!fields || of_inode != inode || dash == std::string::npos || rights.size() < 3)
            continue;
        const AddressRange one{number_of(std::string_view(range).substr(0, dash)),
                               number_of(std::string_view(range).substr(dash + 1))};
        if (rights[2] == 'x') {
            code_came = true;
            only_read = {};
        } else if (code_came && rights[1] != 'w') {
            only_read = one;  // the last of several: the loader protects it after writing to it
        } else if (code_came) {
            if (only_read.end == one.begin) ranges.push_back(only_read);
            ranges.push_back(one);
            only_read = {};
        }
    }
    // All of it, if nothing is writable.
    if (ranges.empty() && only_read.end != 0) ranges.push_back(only_read);
    return ranges;
}

Result<std::vector<VirtualFunction>> find_virtual_functions(
    ProcessInspector& inspector, std::uint32_t pid, const std::vector<AddressRange>& ranges,
    const std::function<bool(std::uint64_t)>& is_code,
    const std::function<bool(const std::string&)>& wanted) {
    std::vector<std::uint64_t> addresses;
    for (const AddressRange& range : ranges)
        for (std::uint64_t at = range.begin;
             at + word_bytes <= range.end && addresses.size() < max_words; at += word_bytes)
            addresses.push_back(at);
    TRY_ASSIGN(const auto words, read_all(inspector, pid, addresses));
    std::vector<Table> tables = tables_in(words, is_code);
    TRY_ASSIGN(const auto types, read_types(inspector, pid, tables));
    std::erase_if(tables, [&](const Table& table) {
        const std::string& name = types.at(table.type).name;
        return name.empty() || !wanted(name);
    });
    std::stable_sort(tables.begin(), tables.end(), [&](const Table& one, const Table& other) {
        return bases_of(types, one.type) < bases_of(types, other.type);
    });
    std::vector<VirtualFunction> found;
    for (const Table& table : tables)
        for (std::size_t slot = 0; slot < table.functions.size(); ++slot)
            found.push_back({types.at(table.type).name, static_cast<std::uint32_t>(slot),
                             table.functions[slot]});
    return found;
}

}  // namespace lagtrap::daemon
