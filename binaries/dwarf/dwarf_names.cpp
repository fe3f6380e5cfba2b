#include "binaries/dwarf/dwarf_names.hpp"

#include <dwarf.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "binaries/elf/program_file.hpp"

namespace lagtrap::binaries {
namespace {

constexpr std::size_t max_name_bytes = 4'096;
constexpr std::size_t max_remembered_bytes = 4 << 20;
constexpr std::size_t max_children_bytes = 8 << 20;
constexpr int max_references = 16;
constexpr int max_scopes = 32;
constexpr int max_nested_functions = 4;

// The entry that this one is an instance of, or that declares it.
std::optional<Dwarf_Die> origin_of(Dwarf_Die& entry) {
    Dwarf_Attribute found;
    if (::dwarf_attr(&entry, DW_AT_abstract_origin, &found) == nullptr &&
        ::dwarf_attr(&entry, DW_AT_specification, &found) == nullptr)
        return std::nullopt;
    // A type unit never declares a function, and libdw would search all units for it.
    if (::dwarf_whatform(&found) == DW_FORM_ref_sig8) return std::nullopt;
    Dwarf_Die origin;
    if (::dwarf_formref_die(&found, &origin) == nullptr) return std::nullopt;
    return origin;
}

// Some languages have no scopes for functions, or include them in the name; skip the search for
// those.
bool has_scopes(Dwarf_Die& unit) {
    constexpr std::uint64_t c17 = 0x2c;  // missing in dwarf.h of elfutils 0.188
    switch (number_of(unit, DW_AT_language).value_or(DW_LANG_C)) {
        case DW_LANG_C89:
        case DW_LANG_C:
        case DW_LANG_C99:
        case DW_LANG_C11:
        case c17:
        case DW_LANG_Go:
        case DW_LANG_Mips_Assembler: return false;
        default: return true;
    }
}

std::string scope_name(Dwarf_Die& scope) {
    const std::string_view name = text_of(scope, DW_AT_name);
    switch (::dwarf_tag(&scope)) {
        case DW_TAG_namespace: return name.empty() ? "(anonymous namespace)" : std::string(name);
        case DW_TAG_class_type:
        case DW_TAG_structure_type:
        case DW_TAG_union_type: return name.empty() ? "{unnamed}" : std::string(name);
        case DW_TAG_module:
        case DW_TAG_interface_type:
        case DW_TAG_enumeration_type: return std::string(name);
        default: return {};
    }
}

}  // namespace

std::string_view text_of(Dwarf_Die& entry, unsigned attribute) {
    Dwarf_Attribute found;
    if (::dwarf_attr(&entry, attribute, &found) == nullptr) return {};
    const char* text = ::dwarf_formstring(&found);
    return text == nullptr ? std::string_view{}
                           : std::string_view(text, ::strnlen(text, max_name_bytes));
}

std::optional<std::uint64_t> number_of(Dwarf_Die& entry, unsigned attribute) {
    Dwarf_Attribute found;
    Dwarf_Word number = 0;
    if (::dwarf_attr(&entry, attribute, &found) == nullptr ||
        ::dwarf_formudata(&found, &number) != 0)
        return std::nullopt;
    return number;
}

std::string DwarfNames::remembered(const void* place, const std::function<std::string()>& make) {
    if (const auto known = names_.find(place); known != names_.end()) return known->second;
    std::string name = make();
    bytes_ += name.size() + sizeof(std::string) + 64;
    if (bytes_ > max_remembered_bytes) {
        names_.clear();
        bytes_ = name.size();
    }
    names_.emplace(place, name);
    return name;
}

// The children of an entry. Cached, because entries do not link to their parent or predecessor.
const std::vector<Dwarf_Off>& DwarfNames::children_of(Dwarf_Die& scope) {
    const auto known = children_.find(scope.addr);
    if (known != children_.end()) return known->second;
    std::vector<Dwarf_Off> offsets;
    Dwarf_Die child;
    for (int answer = ::dwarf_child(&scope, &child); answer == 0;) {
        offsets.push_back(::dwarf_dieoffset(&child));
        Dwarf_Die next;
        answer = ::dwarf_siblingof(&child, &next);
        child = next;
    }
    children_bytes_ += offsets.size() * sizeof(Dwarf_Off) + 128;
    if (children_bytes_ > max_children_bytes) {
        children_.clear();
        children_bytes_ = offsets.size() * sizeof(Dwarf_Off);
    }
    return children_[scope.addr] = std::move(offsets);
}

// "space::Class::" for an entry, found from its unit downwards.
std::string DwarfNames::scopes_of(Dwarf_Die& entry, const Touch& touch, int nested) {
    Dwarf_Die scope;
    if (::dwarf_diecu(&entry, &scope, nullptr, nullptr) == nullptr || !has_scopes(scope)) return {};
    Dwarf* const all = ::dwarf_cu_getdwarf(entry.cu);
    const Dwarf_Off target = ::dwarf_dieoffset(&entry);
    std::string scopes;
    for (int depth = 0; depth < max_scopes; ++depth) {
        const auto& children = children_of(scope);
        const auto after = std::upper_bound(children.begin(), children.end(), target);
        if (after == children.begin() || *std::prev(after) == target) break;
        if (::dwarf_offdie(all, *std::prev(after), &scope) == nullptr) break;
        if (::dwarf_tag(&scope) == DW_TAG_subprogram && nested < max_nested_functions) {
            // A function's name is the scope of what it contains, wherever that name comes from.
            scopes = name_with_scopes(scope, touch, nested + 1) + "::";
        } else if (const std::string name = scope_name(scope); !name.empty()) {
            scopes += name + "::";
        }
        if (scopes.size() > max_name_bytes) break;
    }
    return scopes;
}

std::string DwarfNames::name_with_scopes(Dwarf_Die entry, const Touch& touch, int nested) {
    std::string_view name;
    for (int reference = 0; reference < max_references && touch(entry); ++reference) {
        if (name.empty()) name = text_of(entry, DW_AT_name);
        auto origin = origin_of(entry);
        if (!origin) break;
        entry = *origin;
    }
    if (name.empty()) return {};
    return remembered(entry.addr, [&] {
        constexpr std::string_view unnamed = "{unnamed}::";
        std::string scopes = scopes_of(entry, touch, nested);
        // A callable class without a name is a lambda.
        if (name == "operator()" && scopes.ends_with(unnamed))
            scopes.replace(scopes.size() - unnamed.size(), unnamed.size(), "{lambda}::");
        return scopes.append(name);
    });
}

std::string DwarfNames::name_of(Dwarf_Die entry, const Touch& touch) {
    Dwarf_Die declared = entry;
    for (int reference = 0; reference < max_references && touch(declared); ++reference) {
        std::string_view linkage = text_of(declared, DW_AT_linkage_name);
        if (linkage.empty()) linkage = text_of(declared, DW_AT_MIPS_linkage_name);
        if (!linkage.empty()) return remembered(linkage.data(), [&] { return demangle(linkage); });
        auto origin = origin_of(declared);
        if (!origin) break;
        declared = *origin;
    }
    return name_with_scopes(entry, touch, 0);
}

}  // namespace lagtrap::binaries
