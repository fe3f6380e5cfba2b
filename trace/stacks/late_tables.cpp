#include "trace/stacks/late_tables.hpp"

#include <optional>
#include <utility>

#include "binaries/elf/elf_image.hpp"
#include "trace/processes/module_files.hpp"

namespace lagtrap::trace {
namespace {

// The address as linked; nullopt if the offset is in no code segment.
std::optional<std::uint64_t> address_of(const binaries::UnwindTable& table,
                                        std::uint64_t file_offset) {
    for (const binaries::CodeSegment& segment : table.segments)
        if (file_offset >= segment.file_offset &&
            file_offset - segment.file_offset < segment.size_bytes)
            return file_offset - segment.file_offset + segment.address;
    return std::nullopt;
}

}  // namespace

LateTables::Table LateTables::make(const RecordedModule& module) {
    const bool vdso = module.path == vdso_path;
    if (!vdso && (!module.path.starts_with('/') || !options_.open_programs)) return {};
    if (vdso && !options_.this_boot) return {};
    if (table_bytes_ >= options_.limits.table_bytes || took_ >= options_.limits.time) return {};
    auto file = vdso ? find_vdso(options_.vdso)
                     : find_module_file(module, options_.proc_root, {}, options_.machine);
    if (!file) return {};
    const auto image = binaries::ElfImage::from_file(std::move(file->fd), module.path);
    if (!image) return {};
    auto table = binaries::make_unwind_table(*image);
    if (!table && table.error().kind == ErrorKind::NotFound) return {CodeRule::Kind::RunTime, {}};
    if (!table) return {};
    table_bytes_ += table->size_bytes();
    return {CodeRule::Kind::Rule, std::move(*table)};
}

CodeRule LateTables::rule_at(const CodePlace& place) {
    if (place.module == unknown_module || place.module == kernel_module) return {};
    if (place.module == jit_module) return {CodeRule::Kind::RunTime, {}};
    auto known = tables_.find(place.module);
    if (known == tables_.end()) {
        const auto began = std::chrono::steady_clock::now();
        known = tables_.emplace(place.module, make(modules_.at(place.module))).first;
        took_ += std::chrono::steady_clock::now() - began;
    }
    const Table& table = known->second;
    if (table.kind != CodeRule::Kind::Rule) return {table.kind, {}};
    const auto address = address_of(table.table, place.offset);
    if (!address) return {CodeRule::Kind::Rule, {}};
    return {CodeRule::Kind::Rule, binaries::find_unwind_rule(table.table, *address)};
}

}  // namespace lagtrap::trace
