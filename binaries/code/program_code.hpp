// Divides the code of a program or library into functions and their parts. Internal to binaries/.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "binaries/code/code_branches.hpp"
#include "binaries/code/code_references.hpp"
#include "binaries/code/function_frames.hpp"
#include "binaries/elf/program_file.hpp"
#include "core/result.hpp"

namespace lagtrap::binaries {

// A piece of a function's code; addresses are as linked.
struct CodePart {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    std::uint64_t file_offset = 0;
    std::vector<Branch> branches;
    // belongs to another function, to which the requested one just jumps
    bool of_others_too = false;
    bool has_landing_pads = false;  // of exceptions; jumps do not reach them

    [[nodiscard]] bool holds(std::uint64_t address) const {
        return address >= begin && address < end;
    }
};

// "f" for "f.cold", "f.cold.1" and "f.__part.1", which are parts of f placed elsewhere; empty for
// other names.
[[nodiscard]] std::string_view owner_of_part(std::string_view name);

// The functions of a file, which must outlive this object. Tables are read only once.
class ProgramCode {
  public:
    // `functions` must be all functions of the file, as returned by ProgramFile::functions().
    ProgramCode(const ElfImage& image, std::vector<Function> functions);
    ProgramCode(const ProgramCode&) = delete;
    ProgramCode& operator=(const ProgramCode&) = delete;

    // The function's main part comes first. Errors are those of function_exits().
    [[nodiscard]] Result<std::vector<CodePart>> parts_of(const Function& function) const;
    [[nodiscard]] StackLevel level_at(std::uint64_t address) const;
    // The name of the function that starts here and is not a part of another; empty if there is
    // none.
    [[nodiscard]] std::string_view function_at(std::uint64_t address) const;
    // The entries of a jump's table, up to the first that leads outside the parts.
    [[nodiscard]] std::vector<std::uint64_t> cases_within(const Branch& jump,
                                                          const std::vector<CodePart>& parts) const;

  private:
    struct Search;
    [[nodiscard]] Result<CodePart> decode(std::uint64_t address, std::uint64_t size) const;
    [[nodiscard]] Result<std::uint64_t> size_of(const Function& function) const;
    [[nodiscard]] const FrameExtent* part_behind(const Branch& branch, const Search& search,
                                                 bool certain) const;
    [[nodiscard]] std::vector<const FrameExtent*> parts_behind_table(const Branch& jump,
                                                                     const Search& search) const;
    [[nodiscard]] Status follow(Search& search, bool certain) const;
    [[nodiscard]] Status adopt(Search& search, std::uint64_t begin, std::uint64_t size) const;
    [[nodiscard]] Result<std::vector<CodePart>> parts_behind(const Branch& jump, int depth) const;
    [[nodiscard]] Result<std::vector<CodePart>> parts_of(const Function& function, int depth) const;
    [[nodiscard]] Status add_returning(Search& search) const;
    [[nodiscard]] Status add_named(Search& search, const Function& function) const;
    [[nodiscard]] std::vector<std::uint64_t> table_of(const Branch& jump) const;
    [[nodiscard]] std::optional<std::uint64_t> file_offset_of(std::uint64_t address) const;
    [[nodiscard]] const CodeReferences& references() const;

    const ElfImage& image_;
    std::vector<Function> functions_;
    FunctionFrames frames_;
    // number of addresses per name
    std::unordered_map<std::string_view, std::uint32_t> addresses_of_name_;
    // by the owner's name
    std::unordered_multimap<std::string_view, const Function*> parts_of_name_;
    // Compilers place parts of functions together: from the first to the last that does not start
    // like a function.
    std::uint64_t parts_begin_ = std::numeric_limits<std::uint64_t>::max();
    std::uint64_t parts_end_ = 0;
    mutable std::optional<CodeReferences> references_;
    // Cache for the extent used last.
    mutable const FrameExtent* last_extent_ = nullptr;
    mutable StackLevels last_levels_;
};

}  // namespace lagtrap::binaries
