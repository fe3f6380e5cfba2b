#include "daemon/objects/object_plan.hpp"

#include <fnmatch.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <map>
#include <set>
#include <utility>

#include <boost/regex.hpp>
#include <fmt/core.h>

#include "binaries/elf/program_file.hpp"
#include "calls/function_sorting.hpp"
#include "core/text.hpp"
#include "daemon/objects/object_names.hpp"

namespace lagtrap::daemon {
namespace {

using calls::ObjectRole;

constexpr std::size_t most_name_bytes = 4096;

Result<boost::regex> expression_of(const std::string& text) {
    try {
        return text.empty() ? boost::regex() : boost::regex(text);
    } catch (const std::exception& wrong) {
        return make_error(ErrorKind::Invalid, fmt::format("\"{}\" is no regular expression: {}", printable(text),
                                                          std::string_view(wrong.what())));
    }
}

// What takes too long to compare is not found.
bool finds(const boost::regex& expression, std::string_view name) {
    try {
        return !expression.empty() && boost::regex_search(std::string(name.substr(0, most_name_bytes)), expression);
    } catch (const std::exception&) {
        return false;
    }
}

bool is_whole(const boost::regex& expression, std::string_view name) {
    try {
        return !expression.empty() && boost::regex_match(std::string(name.substr(0, most_name_bytes)), expression);
    } catch (const std::exception&) {
        return false;
    }
}

bool fits(const std::string& pattern, const std::string& name) {
    return ::fnmatch(pattern.c_str(), name.c_str(), 0) == 0;
}

// Numbers of registers as usdt_argument.bpf.h has them, by the argument (System V ABI for x86-64).
__u8 register_of(const calls::ValuePlace& place) {
    static constexpr __u8 registers[calls::most_arguments] = {7, 6, 2, 1, 8, 9};
    return place.argument ? registers[*place.argument] : LAGTRAP_FROM_RESULT;
}

__u8 failure_of(calls::Failure failure) {
    switch (failure) {
        case calls::Failure::Never: return LAGTRAP_FAILS_NEVER;
        case calls::Failure::Negative: return LAGTRAP_FAILS_NEGATIVE;
        case calls::Failure::Null: return LAGTRAP_FAILS_NULL;
        case calls::Failure::Nonzero: return LAGTRAP_FAILS_NONZERO;
        case calls::Failure::NotPositive: return LAGTRAP_FAILS_NOT_POSITIVE;
        case calls::Failure::MinusOne: break;
    }
    return LAGTRAP_FAILS_MINUS_ONE;
}

struct MemoryName {
    std::string_view name;
    lagtrap_memory_kind kind;
};
constexpr MemoryName memory_names[] = {
    {"malloc", LAGTRAP_MEMORY_TAKE},   {"calloc", LAGTRAP_MEMORY_TAKE},
    {"memalign", LAGTRAP_MEMORY_TAKE}, {"aligned_alloc", LAGTRAP_MEMORY_TAKE},
    {"valloc", LAGTRAP_MEMORY_TAKE},   {"realloc", LAGTRAP_MEMORY_CHANGE},
    {"free", LAGTRAP_MEMORY_GIVE},     {"posix_memalign", LAGTRAP_MEMORY_TAKE_BEHIND}};

// Where a direct jump leads to, conditional or not, in the same file; nullopt: it is none.
std::optional<std::uint64_t> jump_target(std::string_view code, std::uint64_t offset) {
    const auto byte = [&](std::size_t at) {
        return at < code.size() ? static_cast<std::uint8_t>(code[at]) : std::uint8_t{0};
    };
    std::size_t at = byte(0) == 0xf2 || byte(0) == 0x3e ? 1 : 0;  // bnd, notrack
    bool is_near = byte(at) == 0xe9;
    if (byte(at) == 0x0f && (byte(at + 1) & 0xf0) == 0x80) {
        is_near = true;
        ++at;
    }
    if (is_near) {
        std::int32_t distance = 0;
        if (code.size() < at + 1 + sizeof distance) return std::nullopt;
        std::memcpy(&distance, code.data() + at + 1, sizeof distance);
        return offset + at + 1 + sizeof distance + static_cast<std::uint64_t>(std::int64_t{distance});
    }
    if (byte(at) != 0xeb && (byte(at) & 0xf0) != 0x70) return std::nullopt;
    return offset + at + 2 + static_cast<std::uint64_t>(std::int64_t{static_cast<std::int8_t>(byte(at + 1))});
}

bool is_return(std::string_view code) {
    const std::size_t at = code.starts_with('\xf3') || code.starts_with('\xf2') ? 1 : 0;  // rep, bnd
    return code.size() > at && (code[at] == '\xc3' || code[at] == '\xc2');
}

constexpr const char* other_allocators[] = {"libjemalloc*", "libtcmalloc*", "libmimalloc*", "libasan*", "ld-musl-*"};

}  // namespace

struct ObjectPlanner::Search {
    Search(ProcessInspector& inspector, const std::atomic<bool>& given_up) : code(inspector, given_up) {}

    struct Wanted {
        std::string name;
        lagtrap_object_function described{};
    };
    using WantedByEntry = std::map<std::uint64_t, Wanted>;

    Result<ObjectPlan> plan(const ObjectWishes& wishes) {
        TRY_ASSIGN(include, expression_of(wishes.include));
        TRY_ASSIGN(exclude, expression_of(wishes.exclude));
        code.begin_anew();
        TRY(code.read(wishes.pid));
        for (std::uint32_t rule = 0; rule < wishes.rules.size(); ++rule) TRY(add_rule(rule, wishes.rules[rule]));
        if (made.functions.empty()) return nothing(wishes);
        find_exceptions();
        find_errno();
        find_memory(wishes.memory);
        made.files = code.opened();
        describe();
        return std::move(made);
    }

    [[nodiscard]] std::string file_name(std::uint32_t file) const {
        return std::filesystem::path(code.files()[file].file.path).filename().string();
    }

    [[nodiscard]] bool is_meant(std::uint32_t file, const calls::ObjectRule& rule) const {
        if (!rule.library.empty()) return fits(rule.library, file_name(file));
        if (rule.class_pattern.empty()) return true;
        return calls::system_file_reason(code.files()[file].file.path, code.files().front().file.path).empty();
    }

    Status add_rule(std::uint32_t number, const calls::ObjectRule& rule) {
        TRY_ASSIGN(class_expression, expression_of(rule.class_pattern));
        created.clear();
        const std::size_t before = made.functions.size(), classes_before = made.told.classes.size();
        for (std::uint32_t file = 0; file < code.files().size(); ++file) {
            if (!is_meant(file, rule)) continue;
            TRY(code.still_wanted());
            auto program = code.program(file);
            auto functions =
                program ? (*program)->functions() : Result<std::vector<binaries::Function>>(program.error());
            if (!functions) {
                if (file == 0 || !rule.library.empty()) note(printable(functions.error().message));
                continue;
            }
            WantedByEntry wanted;
            for (const binaries::Function& function : *functions) consider(function, number, rule, wanted);
            TRY(add(file, wanted));
        }
        if (made.functions.size() == before)
            note(fmt::format("{}: no function of it is in the process{}", rule.name,
                             rule.library.empty() ? "" : ", or no library " + rule.library));
        for (std::size_t one = classes_before; one < made.told.classes.size(); ++one)
            if (!created.contains(static_cast<std::uint32_t>(one)))
                note(
                    fmt::format("{}: no function that creates it is there (inlined?); its objects are not known before "
                                "they are used",
                                made.told.classes[one]));
        return success();
    }

    void consider(const binaries::Function& function, std::uint32_t rule_number, const calls::ObjectRule& rule,
                  WantedByEntry& wanted) {
        if (!rule.class_pattern.empty()) return consider_member(function, rule_number, wanted);
        const std::string symbol = function.name.substr(0, function.name.find('@'));
        const auto try_role = [&](ObjectRole role, const std::vector<calls::ObjectFunctions>& functions,
                                  calls::Failure failure) {
            for (const calls::ObjectFunctions& one : functions) {
                if (!fits(one.pattern, symbol)) continue;
                lagtrap_object_function described = blank(rule_number, class_named(rule.name), role);
                described.object_from = register_of(one.object);
                described.object_behind = one.object.behind ? 1 : 0;
                described.failure = failure_of(failure);
                described.successes = static_cast<__u8>(rule.successes.size());
                std::copy(rule.successes.begin(), rule.successes.end(), described.success);
                if (role == ObjectRole::Create && rule.title) described.title_from = register_of({rule.title, false});
                described.reused = rule.reused ? 1 : 0;
                return want(function, symbol, described, wanted);
            }
            return false;
        };
        (void)(try_role(ObjectRole::Create, rule.create, rule.create_failure) ||
               try_role(ObjectRole::Release, rule.release, rule.release_failure) ||
               try_role(ObjectRole::Use, rule.use, rule.use_failure) ||
               try_role(ObjectRole::Message, rule.message, calls::Failure::Never));
    }

    void consider_member(const binaries::Function& function, std::uint32_t rule, WantedByEntry& wanted) {
        if (!function.name.starts_with("_Z") || function.name.find('.') != std::string::npos) return;
        const std::string name = binaries::demangle_without_parameters(function.name);
        const auto member = member_name(name);
        if (!member) return;
        if (!is_whole(class_expression, member->class_name)) {
            const std::size_t scope = member->class_name.rfind("::");
            if (scope == std::string::npos || !is_whole(class_expression, member->class_name.substr(scope + 2))) return;
        }
        lagtrap_object_function described = blank(rule, class_named(member->class_name), member->role);
        described.object_from = register_of({0, false});
        described.is_method = 1;
        (void)want(function, name, described, wanted);
    }

    [[nodiscard]] static lagtrap_object_function blank(std::uint32_t rule, std::uint32_t class_number,
                                                       ObjectRole role) {
        lagtrap_object_function described{};
        described.rule = rule;
        described.class_number = class_number;
        described.role = static_cast<__u8>(role);
        described.title_from = LAGTRAP_FROM_NOWHERE;
        return described;
    }

    // The library's own calls of its functions do not cross its boundary.
    void set_inner(std::uint32_t file, lagtrap_object_function& described) const {
        if (file == 0 || described.is_method != 0) return;
        for (const ProcessFiles::Part& part : code.parts()) {
            if (part.file != file) continue;
            if (described.inner_end == 0) described.inner_begin = part.mapping.start;
            described.inner_begin = std::min(described.inner_begin, part.mapping.start);
            described.inner_end = std::max(described.inner_end, part.mapping.start + part.mapping.length);
        }
    }

    bool want(const binaries::Function& function, const std::string& name, const lagtrap_object_function& described,
              WantedByEntry& wanted) {
        const bool is_use = described.role == LAGTRAP_OBJECT_USE;
        if (is_use && ((!include.empty() && !finds(include, name)) || finds(exclude, name))) return true;
        wanted.emplace(function.file_offset, Wanted{name, described});
        return true;
    }

    std::uint32_t class_named(const std::string& name) {
        const std::string shown = printable(name);
        const auto known = std::find(made.told.classes.begin(), made.told.classes.end(), shown);
        if (known != made.told.classes.end()) return static_cast<std::uint32_t>(known - made.told.classes.begin());
        if (made.told.classes.size() >= LAGTRAP_OBJECT_CLASSES - 1) return LAGTRAP_OBJECT_CLASSES - 2;
        made.told.classes.push_back(shown);
        return static_cast<std::uint32_t>(made.told.classes.size() - 1);
    }

    Status add(std::uint32_t file, const WantedByEntry& wanted) {
        std::vector<std::uint64_t> entries;
        for (const auto& [entry, one] : wanted)
            if (taken.insert({file, entry}).second) entries.push_back(entry);
        for (std::size_t at = 0; at < entries.size(); at += ProcessFiles::functions_of_question) {
            const auto from = entries.begin() + static_cast<std::ptrdiff_t>(at);
            const std::vector<std::uint64_t> part(
                from,
                from + static_cast<std::ptrdiff_t>(std::min(ProcessFiles::functions_of_question, entries.size() - at)));
            auto found = code.calls_of(file, part);
            if (!found) return refuse(found.error().message);
            for (std::size_t i = 0; i < part.size(); ++i)
                add(file, part[i], wanted.at(part[i]), std::move((*found)[i]));
        }
        return success();
    }

    Status refuse(const std::string& reason) {
        for (calls::ReasonCount& one : made.told.refused)
            if (one.reason == reason) {
                ++one.count;
                return success();
            }
        made.told.refused.push_back({printable(reason), 1});
        return success();
    }

    void add(std::uint32_t file, std::uint64_t entry, const Wanted& wanted, binaries::FunctionCalls found) {
        if (!found.problem.empty()) return (void)refuse(found.problem);
        if (needs_result(wanted.described) && !found.return_probe && !see_result(file, found)) {
            (void)refuse("ends by a jump to another file, so that its result is not seen");
            return;
        }
        if (made.functions.size() >= LAGTRAP_OBJECT_FUNCTIONS - std::size(memory_names)) {
            ++made.told.beyond_limit;
            return;
        }
        if (wanted.described.role == LAGTRAP_OBJECT_CREATE) created.insert(wanted.described.class_number);
        made.functions.push_back({file,
                                  entry,
                                  wanted.name.substr(0, most_name_bytes),
                                  1,
                                  std::move(found.first_code),
                                  std::move(found.exits),
                                  found.return_probe,
                                  {}});
        made.described.push_back(wanted.described);
        set_inner(file, made.described.back());
    }

    [[nodiscard]] static bool needs_result(const lagtrap_object_function& described) {
        return described.failure != LAGTRAP_FAILS_NEVER || described.object_from == LAGTRAP_FROM_RESULT ||
               described.object_behind != 0 || described.role == LAGTRAP_OBJECT_MESSAGE;
    }

    // A function that ends by a jump to another one has its result when that one ends: there it is watched. Where that cannot
    // be told, the kernel's return probe serves, as far as exceptions do not pass.
    bool see_result(std::uint32_t file, binaries::FunctionCalls& function) {
        auto program = code.program(file);
        if (!program) return false;
        std::map<std::uint64_t, binaries::FunctionExit> exits;
        std::set<std::uint64_t> followed;
        if (follow(file, **program, function.exits, false, exits, followed)) {
            function.exits.clear();
            for (auto& [offset, exit] : exits) function.exits.push_back(exit);
            return true;
        }
        if ((*program)->exceptions_may_pass()) return false;
        function.exits.clear();
        function.return_probe = true;
        return true;
    }

    bool follow(std::uint32_t file, binaries::ProgramFile& program, const std::vector<binaries::FunctionExit>& from,
                bool is_other, std::map<std::uint64_t, binaries::FunctionExit>& exits,
                std::set<std::uint64_t>& followed) {
        constexpr std::size_t most_followed = 64;
        for (binaries::FunctionExit exit : from) {
            const auto bytes = program.code_at(exit.file_offset);
            if (!bytes || exit.by_target) return false;
            const auto target = jump_target(*bytes, exit.file_offset);
            if (!target && !is_return(*bytes)) return false;
            if (!target) {
                exit.of_others_too = exit.of_others_too || is_other;
                exits.emplace(exit.file_offset, exit);
                continue;
            }
            if (!followed.insert(*target).second) continue;
            if (followed.size() > most_followed) return false;
            const auto found = code.calls_of(file, {*target});
            if (!found || found->empty() || !found->front().problem.empty() || found->front().exits.empty())
                return false;
            if (!follow(file, program, found->front().exits, true, exits, followed)) return false;
        }
        return !exits.empty();
    }

    void note(std::string text) {
        constexpr std::size_t most = 20;
        if (made.told.notes.size() < most) made.told.notes.push_back(std::move(text));
    }

    // A program that is linked statically has them itself.
    void find_exceptions() {
        for (std::uint32_t file = 0; file < code.files().size(); ++file) {
            if (file != 0 && !fits("libstdc++*", file_name(file)) && !fits("libc++*", file_name(file))) continue;
            const auto program = code.program(file);
            if (!program) continue;
            const auto put = [&](const char* name, std::vector<ObjectPlan::Place>& places) {
                const auto found = (*program)->find_functions(name);
                if (!found) return;
                for (const binaries::Function& one : *found) places.push_back({file, one.file_offset});
            };
            put("__cxa_throw", made.throws);
            put("__cxa_begin_catch", made.catches);
        }
    }

    [[nodiscard]] std::uint64_t address_of(std::uint32_t file, std::uint64_t offset) const {
        for (const ProcessFiles::Part& part : code.parts())
            if (part.file == file && offset >= part.mapping.file_offset &&
                offset - part.mapping.file_offset < part.mapping.length)
                return part.mapping.start + (offset - part.mapping.file_offset);
        return 0;
    }

    // glibc's __errno_location() loads the distance of errno from the thread's base: mov slot(%rip),%rax; add %fs:0,%rax.
    void find_errno() {
        static constexpr std::string_view landing("\xf3\x0f\x1e\xfa", 4), load("\x48\x8b\x05", 3);
        const auto libc = file_with("libc.so*");
        if (!libc) return;
        const auto program = code.program(*libc);
        if (!program) return;
        const auto found = (*program)->find_functions("__errno_location");
        if (!found || found->empty()) return;
        const auto bytes = (*program)->code_at(found->front().file_offset);
        if (!bytes) return;
        const std::size_t at = bytes->starts_with(landing) ? landing.size() : 0;
        std::int32_t distance = 0;
        const std::size_t end = at + load.size() + sizeof distance;
        if (bytes->size() < end || bytes->compare(at, load.size(), load) != 0) return;
        std::memcpy(&distance, bytes->data() + at + load.size(), sizeof distance);
        const std::uint64_t address = address_of(*libc, found->front().file_offset);
        if (address != 0) made.errno_slot = address + end + static_cast<std::uint64_t>(std::int64_t{distance});
    }

    [[nodiscard]] std::optional<std::uint32_t> file_with(const char* pattern) const {
        for (std::uint32_t file = 0; file < code.files().size(); ++file)
            if (fits(pattern, file_name(file))) return file;
        return std::nullopt;
    }

    void find_memory(bool wanted) {
        if (!wanted) {
            made.told.memory = "it was not wanted";
            return;
        }
        for (const char* pattern : other_allocators)
            if (const auto file = file_with(pattern)) {
                made.told.memory = file_name(*file) + " allocates, whose blocks do not tell their size";
                return;
            }
        const auto own = code.program(0);
        const auto own_malloc =
            own ? (*own)->find_functions("malloc") : Result<std::vector<binaries::Function>>(own.error());
        if (own_malloc && !own_malloc->empty()) {
            made.told.memory = "the program has an allocator of its own";
            return;
        }
        const auto libc = file_with("libc.so*");
        const auto program =
            libc ? code.program(*libc) : Result<binaries::ProgramFile*>(make_error(ErrorKind::NotFound, ""));
        if (!program) {
            made.told.memory = "the process has no glibc, whose allocator is known";
            return;
        }
        made.memory_file = *libc;
        for (const MemoryName& one : memory_names) {
            const auto found = (*program)->find_functions(one.name);
            if (!found || found->empty()) continue;
            const std::uint64_t entry = found->front().file_offset;
            if (taken.contains({*libc, entry})) continue;
            auto first_code = (*program)->code_at(entry);
            if (!first_code) continue;
            made.memory.push_back({entry, std::string(one.name), one.kind, std::move(*first_code)});
        }
        if (made.memory.empty()) made.told.memory = "the C library's allocator was not found";
    }

    void describe() {
        for (std::size_t number = 0; number < made.functions.size(); ++number) {
            const PlannedFunction& planned = made.functions[number];
            calls::ObjectFunction one;
            one.function.name = printable(planned.name);
            one.function.module = printable(made.files[planned.file].path);
            one.function.level = 1;
            one.function.entry = planned.entry;
            one.role = static_cast<ObjectRole>(made.described[number].role);
            one.class_number = made.described[number].class_number;
            made.told.functions.push_back(std::move(one));
        }
        for (const MemoryFunction& planned : made.memory) {
            calls::ObjectFunction one;
            one.function.name = planned.name;
            one.function.module = printable(made.files[made.memory_file].path);
            one.function.level = 1;
            one.function.entry = planned.entry;
            one.class_number = static_cast<std::uint32_t>(made.told.classes.size());
            made.told.functions.push_back(std::move(one));
        }
    }

    [[nodiscard]] Error nothing(const ObjectWishes& wishes) const {
        std::string names;
        for (const calls::ObjectRule& rule : wishes.rules)
            names +=
                (names.empty() ? "" : ", ") + (rule.class_pattern.empty() ? rule.name : "class " + rule.class_pattern);
        if (!made.told.refused.empty())
            return make_error(ErrorKind::Unsupported, fmt::format("no function of {} can be watched: {}", names,
                                                                  made.told.refused.front().reason));
        return make_error(
            ErrorKind::Unsupported,
            fmt::format("no function of {} is in {} or what it has loaded. Is the name right, and does the "
                        "file have symbols? `lagtrap list-markers --functions {}` lists them",
                        names, code.files().front().file.path, code.files().front().file.path));
    }

    [[nodiscard]] std::string name_of(std::uint64_t address) {
        for (const ProcessFiles::Part& part : code.parts()) {
            if (address < part.mapping.start || address - part.mapping.start >= part.mapping.length) continue;
            const std::uint64_t offset = address - part.mapping.start + part.mapping.file_offset;
            return name_in(part.file, offset);
        }
        return {};
    }

    [[nodiscard]] std::string name_in(std::uint32_t file, std::uint64_t offset) {
        auto [known, is_new] = symbols.try_emplace(file);
        if (is_new)
            if (const auto program = code.program(file))
                if (auto functions = (*program)->functions()) known->second = std::move(*functions);
        const binaries::Function* best = nullptr;
        for (const binaries::Function& one : known->second)
            if (one.file_offset <= offset && offset - one.file_offset < std::max<std::uint64_t>(one.size, 1))
                best = &one;
        const std::string where = printable(file_name(file));
        if (best == nullptr) return fmt::format("{}+0x{:x}", where, offset);
        return fmt::format("{} ({})", printable(binaries::demangle_without_parameters(best->name)), where);
    }

    ProcessFiles code;
    boost::regex include, exclude, class_expression;
    std::set<std::pair<std::uint32_t, std::uint64_t>> taken;
    std::set<std::uint32_t> created;  // classes of the rule that have a function which creates them
    std::map<std::uint32_t, std::vector<binaries::Function>> symbols;
    ObjectPlan made;
};

ObjectPlanner::ObjectPlanner(ProcessInspector& inspector, const std::atomic<bool>& given_up)
    : search_(std::make_unique<Search>(inspector, given_up)) {}
ObjectPlanner::~ObjectPlanner() = default;

Result<ObjectPlan> ObjectPlanner::plan(const ObjectWishes& wishes) { return search_->plan(wishes); }
std::string ObjectPlanner::name_of(std::uint64_t address) { return search_->name_of(address); }

}  // namespace lagtrap::daemon
