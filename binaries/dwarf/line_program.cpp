#include "binaries/dwarf/line_program.hpp"

#include <dwarf.h>

#include <algorithm>
#include <limits>
#include <string>

#include "binaries/elf/elf_image.hpp"

namespace lagtrap::binaries {

Error LineProgram::damaged(std::string_view what) const {
    return make_error(ErrorKind::Invalid, "damaged line table at " +
                                              std::to_string(source_.offset) +
                                              " of .debug_line: " + std::string(what));
}

bool LineProgram::fits() const {
    // A growing vector briefly holds its old content too.
    return 3 * table_.rows_.size() * sizeof(LineTable::Row) +
               2 * table_.sequences_.size() * sizeof(LineTable::Sequence) +
               2 * table_.files_.size() * sizeof(LineTable::File) +
               2 * table_.directories_.size() * sizeof(std::string_view) <=
           limit_bytes_;
}

Status LineProgram::read() {
    TRY(read_header());
    return run();
}

Status LineProgram::read_header() {
    ByteCursor unit(source_.debug_line,
                    std::min<std::uint64_t>(source_.offset, source_.debug_line.size()));
    std::uint64_t length = unit.number<std::uint32_t>();
    header_.wide = length == 0xffffffff;
    if (header_.wide) length = unit.number<std::uint64_t>();
    ByteCursor header(unit.take(length));
    header_.version = header.number<std::uint16_t>();
    if (!unit.ok() || header_.version < 2 || header_.version > 5)
        return damaged("its length or its version");
    if (header_.version == 5) {
        const auto address_bytes = header.number<std::uint8_t>();
        const auto segment_bytes = header.number<std::uint8_t>();
        if (address_bytes != 8 || segment_bytes != 0)
            return damaged("addresses are not of 8 bytes");
    }
    const std::uint64_t rest =
        header_.wide ? header.number<std::uint64_t>() : header.number<std::uint32_t>();
    ByteCursor body = header;
    const std::string_view tables = body.take(rest);
    const std::string_view unit_bytes = source_.debug_line.substr(
        unit.position() - static_cast<std::size_t>(length), static_cast<std::size_t>(length));
    if (!body.ok()) return damaged("its header is longer than the table");
    code_ = unit_bytes.substr(body.position());
    ByteCursor fields(tables);
    header_.smallest_step = fields.number<std::uint8_t>();
    if (header_.version >= 4)
        header_.operations_per_step = std::max<std::uint8_t>(fields.number<std::uint8_t>(), 1);
    (void)fields.number<std::uint8_t>();  // default_is_stmt
    header_.line_base = fields.number<std::int8_t>();
    header_.line_range = fields.number<std::uint8_t>();
    header_.opcode_base = fields.number<std::uint8_t>();
    for (unsigned opcode = 1; opcode < header_.opcode_base; ++opcode)
        header_.operands[opcode] = fields.number<std::uint8_t>();
    if (!fields.ok() || header_.line_range == 0 || header_.opcode_base == 0)
        return damaged("its header");
    if (header_.version == 5) return read_new_files(fields);
    read_old_files(fields);
    return fields.ok() && fits() ? success() : damaged("its list of files");
}

void LineProgram::read_old_files(ByteCursor& header) {
    // Numbered from 1; 0 is the compilation's own directory and file.
    table_.directories_.emplace_back();
    while (header.ok() && fits()) {
        const std::string_view directory = header.text();
        if (directory.empty()) break;
        table_.directories_.push_back(directory);
    }
    table_.files_.push_back(LineTable::File{source_.name, 0});
    while (header.ok() && fits()) {
        const std::string_view name = header.text();
        if (name.empty()) break;
        const std::uint64_t directory = header.unsigned_leb128();
        (void)header.unsigned_leb128();  // modification time
        (void)header.unsigned_leb128();  // size
        table_.files_.push_back(LineTable::File{name, directory});
    }
}

std::string_view LineProgram::text_of(ByteCursor& header, std::uint64_t form) const {
    const auto offset = [&] {
        return header_.wide ? header.number<std::uint64_t>() : header.number<std::uint32_t>();
    };
    switch (form) {
        case DW_FORM_string: return header.text();
        case DW_FORM_line_strp: return text_at(source_.debug_line_str, offset());
        case DW_FORM_strp: return text_at(source_.debug_str, offset());
        // In the common file, or in the unit's list of strings: unknown here.
        case DW_FORM_strp_sup: (void)offset(); return {};
        case DW_FORM_strx: (void)header.unsigned_leb128(); return {};
        case DW_FORM_strx1: (void)header.take(1); return {};
        case DW_FORM_strx2: (void)header.take(2); return {};
        case DW_FORM_strx3: (void)header.take(3); return {};
        case DW_FORM_strx4: (void)header.take(4); return {};
        default: return {};
    }
}

namespace {

bool is_text(std::uint64_t form) {
    switch (form) {
        case DW_FORM_string:
        case DW_FORM_line_strp:
        case DW_FORM_strp:
        case DW_FORM_strp_sup:
        case DW_FORM_strx:
        case DW_FORM_strx1:
        case DW_FORM_strx2:
        case DW_FORM_strx3:
        case DW_FORM_strx4: return true;
        default: return false;
    }
}

// The value if it is a number; skips other forms.
std::uint64_t number_of(ByteCursor& header, std::uint64_t form, bool& known) {
    switch (form) {
        case DW_FORM_udata: return header.unsigned_leb128();
        case DW_FORM_sdata: return static_cast<std::uint64_t>(header.signed_leb128());
        case DW_FORM_data1: return header.number<std::uint8_t>();
        case DW_FORM_data2: return header.number<std::uint16_t>();
        case DW_FORM_data4: return header.number<std::uint32_t>();
        case DW_FORM_data8: return header.number<std::uint64_t>();
        case DW_FORM_data16: (void)header.take(16); return 0;
        case DW_FORM_block: (void)header.take(header.unsigned_leb128()); return 0;
        case DW_FORM_block1: (void)header.take(header.number<std::uint8_t>()); return 0;
        case DW_FORM_block2: (void)header.take(header.number<std::uint16_t>()); return 0;
        case DW_FORM_block4: (void)header.take(header.number<std::uint32_t>()); return 0;
        case DW_FORM_flag: (void)header.take(1); return 0;
        default: known = false; return 0;
    }
}

}  // namespace

// Calls `add(name, directory)` for each entry of a DWARF 5 list of directories or files. False if
// it is damaged.
template <typename Add>
bool LineProgram::read_entries(ByteCursor& header, Add&& add) {
    std::array<std::pair<std::uint64_t, std::uint64_t>, 255> format;  // content type and form
    const auto fields = header.number<std::uint8_t>();
    for (unsigned index = 0; index < fields; ++index)
        format[index] = {header.unsigned_leb128(), header.unsigned_leb128()};
    const std::uint64_t count = header.unsigned_leb128();
    if (fields == 0) return header.ok() && count == 0;
    for (std::uint64_t entry = 0; entry < count; ++entry) {
        std::string_view name;
        std::uint64_t directory = 0;
        for (unsigned index = 0; index < fields; ++index) {
            const auto [content, form] = format[index];
            bool known = true;
            if (is_text(form)) {
                const std::string_view text = text_of(header, form);
                if (content == DW_LNCT_path) name = text;
            } else {
                const std::uint64_t number = number_of(header, form, known);
                if (content == DW_LNCT_directory_index) directory = number;
            }
            if (!known || !header.ok() || !fits()) return false;
        }
        add(name, directory);
    }
    return true;
}

Status LineProgram::read_new_files(ByteCursor& header) {
    const bool directories = read_entries(
        header, [&](std::string_view name, std::uint64_t) { table_.directories_.push_back(name); });
    const bool files =
        directories && read_entries(header, [&](std::string_view name, std::uint64_t directory) {
            table_.files_.push_back(LineTable::File{name, directory});
        });
    return files ? success() : damaged("its list of files");
}

Status LineProgram::run() {
    ByteCursor code(code_);
    while (!code.at_end()) {
        const auto opcode = code.number<std::uint8_t>();
        if (opcode >= header_.opcode_base) {
            const unsigned step = opcode - header_.opcode_base;
            advance(step / header_.line_range);
            now_.line += static_cast<std::uint64_t>(std::int64_t{header_.line_base} +
                                                    step % header_.line_range);
            TRY(add_row());
        } else if (opcode == 0) {
            TRY(run_extended(code));
        } else if (opcode == DW_LNS_copy) {
            TRY(add_row());
        } else {
            run_standard(code, opcode);
        }
    }
    // Drop a sequence that does not end.
    table_.rows_.resize(first_row_);
    return code.ok() ? success() : damaged("its program ends in the middle");
}

void LineProgram::run_standard(ByteCursor& code, std::uint8_t opcode) {
    switch (opcode) {
        case DW_LNS_advance_pc: advance(code.unsigned_leb128()); return;
        case DW_LNS_advance_line:
            now_.line += static_cast<std::uint64_t>(code.signed_leb128());
            return;
        case DW_LNS_set_file: now_.file = code.unsigned_leb128(); return;
        case DW_LNS_const_add_pc:
            advance((255U - header_.opcode_base) / header_.line_range);
            return;
        case DW_LNS_fixed_advance_pc:
            now_.address += code.number<std::uint16_t>();
            now_.operation = 0;
            return;
        default:
            for (unsigned operand = 0; operand < header_.operands[opcode]; ++operand)
                (void)code.unsigned_leb128();
    }
}

Status LineProgram::run_extended(ByteCursor& code) {
    ByteCursor instruction(code.take(code.unsigned_leb128()));
    if (!code.ok()) return damaged("an instruction is longer than the table");
    switch (instruction.number<std::uint8_t>()) {
        case DW_LNE_end_sequence:
            TRY(add_row());
            end_sequence();
            return success();
        case DW_LNE_set_address:
            now_.address = instruction.number<std::uint64_t>();
            now_.operation = 0;
            return instruction.ok() ? success() : damaged("an address is not of 8 bytes");
        default: return success();
    }
}

void LineProgram::advance(std::uint64_t operations) {
    if (header_.operations_per_step == 1) {
        now_.address += header_.smallest_step * operations;
        return;
    }
    const std::uint64_t total = now_.operation + operations;
    now_.address += header_.smallest_step * (total / header_.operations_per_step);
    now_.operation = total % header_.operations_per_step;
}

Status LineProgram::add_row() {
    constexpr std::uint64_t max_allowed = std::numeric_limits<std::uint32_t>::max();
    const LineTable::Row row{now_.address,
                             static_cast<std::uint32_t>(std::min(now_.file, max_allowed)),
                             now_.line > max_allowed ? 0U : static_cast<std::uint32_t>(now_.line)};
    auto& rows = table_.rows_;
    if (rows.size() > first_row_) {
        // Of several rows at one address, the last one's line applies.
        if (rows.back().address == row.address) {
            rows.back() = row;
            return success();
        }
        ordered_ = ordered_ && rows.back().address < row.address;
    }
    if (!fits())
        return make_error(ErrorKind::TooLarge, "a line table takes more than " +
                                                   std::to_string(limit_bytes_) + " bytes");
    rows.push_back(row);
    return success();
}

void LineProgram::end_sequence() {
    auto& rows = table_.rows_;
    const auto first = rows.begin() + static_cast<std::ptrdiff_t>(first_row_);
    if (!ordered_)
        std::stable_sort(first, rows.end(),
                         [](const auto& a, const auto& b) { return a.address < b.address; });
    const std::uint64_t low = first->address;
    const std::uint64_t high = rows.back().address;
    if (low < high && low >= source_.lowest_address && high <= source_.highest_address) {
        // The end row has no line.
        table_.sequences_.push_back(LineTable::Sequence{low, high, 0, first_row_, rows.size() - 1});
    } else {
        rows.resize(first_row_);
    }
    first_row_ = rows.size();
    ordered_ = true;
    now_ = Registers{};
}

}  // namespace lagtrap::binaries
