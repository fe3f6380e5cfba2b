#include "daemon/objects/object_plan.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include <boost/regex.hpp>
#include <fmt/core.h>

#include "binaries/elf/program_file.hpp"
#include "calls/function_sorting.hpp"
#include "core/files.hpp"
#include "core/text.hpp"
#include "daemon/calls/name_expressions.hpp"
#include "daemon/objects/code_names.hpp"
#include "daemon/objects/object_description.hpp"
#include "daemon/objects/object_destructors.hpp"
#include "daemon/objects/object_errors.hpp"
#include "daemon/objects/object_exits.hpp"
#include "daemon/objects/object_memory.hpp"
#include "daemon/objects/object_names.hpp"
#include "daemon/objects/object_vtables.hpp"

namespace lagtrap::daemon {
namespace {

using calls::ObjectRole;

// Functions that free memory and that a function which releases an object may jump to at its end:
// free and any operator delete.
bool gives_back(std::string_view symbol) {
    symbol = symbol.substr(0, symbol.find('@'));
    return symbol == "free" || symbol.starts_with("_ZdlPv") || symbol.starts_with("_ZdaPv");
}

}  // namespace

struct ObjectPlanner::Search {
    Search(ProcessInspector& inspector_, const std::atomic<bool>& given_up)
        : inspector(inspector_), code(inspector_, given_up) {}

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
        pid = wishes.pid;
        find_memory(code, wishes.memory, made);
        for (std::uint32_t rule = 0; rule < wishes.rules.size(); ++rule)
            TRY(add_rule(rule, wishes.rules[rule]));
        if (made.functions.empty()) return nothing(wishes);
        std::erase_if(made.memory, [&](const MemoryFunction& one) {
            return taken.contains({made.memory_file, one.entry});
        });
        const ExceptionPlaces exceptions = find_exceptions(code);
        made.throws = exceptions.throws;
        made.catches = exceptions.catches;
        made.errno_slot = find_errno_slot(code);
        made.files = code.opened();
        describe();
        return std::move(made);
    }

    [[nodiscard]] bool is_meant(std::uint32_t file, const calls::ObjectRule& rule) const {
        if (!rule.library.empty()) return fits(rule.library, code.name_of(file));
        if (rule.class_pattern.empty()) return true;
        return calls::system_file_reason(code.files()[file].file.path,
                                         code.files().front().file.path)
            .empty();
    }

    Status add_rule(std::uint32_t number, const calls::ObjectRule& rule) {
        TRY_ASSIGN(class_expression, expression_of(rule.class_pattern));
        created.clear();
        const std::size_t before = made.functions.size(),
                          classes_before = made.reported.classes.size();
        for (std::uint32_t file = 0; file < code.files().size(); ++file) {
            if (!is_meant(file, rule)) continue;
            TRY(code.still_wanted());
            auto program = code.program(file);
            auto functions = program ? (*program)->functions()
                                     : Result<std::vector<binaries::Function>>(program.error());
            if (!functions && (file == 0 || !rule.library.empty()))
                note(printable(functions.error().message));
            WantedByEntry wanted;
            if (functions)
                for (const binaries::Function& function : *functions)
                    consider(function, number, rule, wanted);
            TRY(add(file, wanted));
            if (wanted.empty() && program && !rule.class_pattern.empty())
                TRY(add_virtual_functions(file, number));
        }
        if (made.functions.size() == before)
            note(fmt::format("{}: none of its functions are in the process{}", rule.name,
                             rule.library.empty() ? "" : " or in library " + rule.library));
        std::vector<std::string> without;
        for (std::size_t one = classes_before; one < made.reported.classes.size(); ++one)
            if (!created.contains(static_cast<std::uint32_t>(one)))
                without.push_back(made.reported.classes[one]);
        if (!without.empty())
            note(
                fmt::format("{}: no creating function found (inlined?); objects are unknown until "
                            "they are used",
                            first_of(without)));
        return success();
    }

    // "Cart", or "Cart and 12 more". `classes` must not be empty.
    [[nodiscard]] static std::string first_of(const std::vector<std::string>& classes) {
        if (classes.size() == 1) return classes.front();
        return fmt::format("{} and {} more", classes.front(), classes.size() - 1);
    }

    void consider(const binaries::Function& function, std::uint32_t rule_number,
                  const calls::ObjectRule& rule, WantedByEntry& wanted) {
        if (!rule.class_pattern.empty()) return consider_member(function, rule_number, wanted);
        const std::string symbol = function.name.substr(0, function.name.find('@'));
        auto described = described_by(rule, symbol);
        if (!described) return;
        described->rule = rule_number;
        described->class_number = class_named(rule.name);
        want(function.file_offset, symbol, *described, wanted);
    }

    [[nodiscard]] bool is_wanted_class(const std::string& name) const {
        if (is_whole(class_expression, name)) return true;
        const std::size_t scope = name.rfind("::");
        return scope != std::string::npos && is_whole(class_expression, name.substr(scope + 2));
    }

    // For classes without symbols: finds their functions in virtual tables.
    Status add_virtual_functions(std::uint32_t file, std::uint32_t rule) {
        constexpr std::size_t maps_limit = 16 << 20;
        TRY_ASSIGN(const std::string maps,
                   read_file(fmt::format("/proc/{}/maps", pid), maps_limit));
        const auto ranges = relocated_data(maps, code.files()[file].mapping.mapping.inode);
        auto found = find_virtual_functions(
            inspector, pid, ranges,
            [&](std::uint64_t address) { return code.place_at(address).has_value(); },
            [&](const std::string& name) { return is_wanted_class(name); });
        if (!found) return refuse(found.error().message);
        WantedByEntry wanted;
        std::set<std::string> classes;
        const std::set<std::uint64_t> destructors = destructors_among(code, file, *found);
        for (const VirtualFunction& one : *found) {
            const auto entry = offset_in(code, file, one.address);
            if (!entry) continue;
            const bool destroys = destructors.contains(one.address);
            lagtrap_object_function described =
                described_method(destroys ? ObjectRole::Release : ObjectRole::Use);
            described.rule = rule;
            described.class_number = class_named(one.class_name);
            const std::string name = fmt::format("{}::virtual #{}{}", one.class_name, one.slot,
                                                 destroys ? " (destructor)" : "");
            if (want(*entry, name, described, wanted)) classes.insert(one.class_name);
        }
        if (!classes.empty())
            note(
                fmt::format("{}: no symbols; virtual functions are found through virtual tables in "
                            "memory and named by slot, from 0; other methods are not seen",
                            first_of({classes.begin(), classes.end()})));
        return add(file, wanted);
    }

    void consider_member(const binaries::Function& function, std::uint32_t rule,
                         WantedByEntry& wanted) {
        if (!function.name.starts_with("_Z") || function.name.find('.') != std::string::npos)
            return;
        const std::string name = binaries::demangle_without_parameters(function.name);
        const auto member = member_name(name);
        if (!member) return;
        if (!is_wanted_class(member->class_name)) return;
        lagtrap_object_function described = described_method(member->role);
        described.rule = rule;
        described.class_number = class_named(member->class_name);
        (void)want(function.file_offset, name, described, wanted);
    }

    // Calls within the library do not cross its boundary.
    void set_inner(std::uint32_t file, lagtrap_object_function& described) const {
        if (file == 0 || described.is_method != 0) return;
        for (const ProcessFiles::Part& part : code.parts()) {
            if (part.file != file) continue;
            if (described.inner_end == 0) described.inner_begin = part.mapping.start;
            described.inner_begin = std::min(described.inner_begin, part.mapping.start);
            described.inner_end =
                std::max(described.inner_end, part.mapping.start + part.mapping.length);
        }
    }

    bool want(std::uint64_t entry, const std::string& name,
              const lagtrap_object_function& described, WantedByEntry& wanted) {
        const bool is_use = described.role == LAGTRAP_OBJECT_USE;
        if (is_use && ((!include.empty() && !finds(include, name)) || finds(exclude, name)))
            return true;
        wanted.emplace(entry, Wanted{name, described});
        return true;
    }

    std::uint32_t class_named(const std::string& name) {
        const std::string shown = printable(name);
        const auto known =
            std::find(made.reported.classes.begin(), made.reported.classes.end(), shown);
        if (known != made.reported.classes.end())
            return static_cast<std::uint32_t>(known - made.reported.classes.begin());
        if (made.reported.classes.size() >= LAGTRAP_OBJECT_CLASSES - 1)
            return LAGTRAP_OBJECT_CLASSES - 2;
        made.reported.classes.push_back(shown);
        return static_cast<std::uint32_t>(made.reported.classes.size() - 1);
    }

    Status add(std::uint32_t file, const WantedByEntry& wanted) {
        std::vector<std::uint64_t> entries;
        for (const auto& [entry, one] : wanted)
            if (taken.insert({file, entry}).second) entries.push_back(entry);
        return code.for_each_part(file, entries, [&](const auto& part, auto found) -> Status {
            if (!found) return refuse(found.error().message);
            for (std::size_t i = 0; i < part.size(); ++i)
                add({file, part[i]}, wanted.at(part[i]), std::move((*found)[i]));
            return success();
        });
    }

    // If functions that create or release objects are not watched, the count is unreliable; report
    // their names.
    void refuse(const Wanted& wanted, const std::string& reason) {
        (void)refuse(reason);
        const auto role = wanted.described.role;
        if (role != LAGTRAP_OBJECT_CREATE && role != LAGTRAP_OBJECT_RELEASE) return;
        note(fmt::format(
            "{}, which {} {}, cannot be probed: {}; the number of live objects is then unknown",
            printable(wanted.name), role == LAGTRAP_OBJECT_CREATE ? "creates" : "releases",
            made.reported.classes[wanted.described.class_number], reason));
    }

    Status refuse(const std::string& reason) {
        calls::count_reason(made.reported.refused, printable(reason));
        return success();
    }

    void add(const CodePlace& place, const Wanted& wanted, binaries::FunctionCalls found) {
        if (!found.problem.empty()) return refuse(wanted, found.problem);
        if (needs_result(wanted.described) && !found.return_probe &&
            !see_result(place.file, found)) {
            refuse(wanted, "ends with a jump to another file, so its result is not seen");
            return;
        }
        if (made.functions.size() >= LAGTRAP_OBJECT_FUNCTIONS - max_memory_functions) {
            ++made.reported.beyond_limit;
            return;
        }
        if (wanted.described.role == LAGTRAP_OBJECT_CREATE)
            created.insert(wanted.described.class_number);
        const bool ends_elsewhere = wanted.described.role == LAGTRAP_OBJECT_RELEASE &&
                                    !needs_result(wanted.described) &&
                                    take_jumps(place.file, found);
        made.functions.push_back(planned_function(place, wanted.name, 1, found));
        made.functions.back().ends_elsewhere = ends_elsewhere;
        made.described.push_back(wanted.described);
        set_inner(place.file, made.described.back());
    }

    // A function that ends with a jump to the allocator ends when the allocator does, if memory is
    // counted.
    bool take_jumps(std::uint32_t file, binaries::FunctionCalls& function) {
        if (made.memory.empty() || function.exits.empty()) return false;
        const auto program = code.program(file);
        if (!program) return false;
        const auto number = static_cast<std::uint32_t>(made.functions.size());
        const auto is_jump = [&](const binaries::FunctionExit& exit) {
            if (exit.condition != binaries::JumpCondition::Always || exit.of_others_too)
                return false;
            const auto slot = jump_slot(**program, exit.file_offset);
            const auto known =
                std::find_if(function.slots.begin(), function.slots.end(),
                             [&](const binaries::CodeSlot& one) { return one.address == slot; });
            if (!slot || known == function.slots.end() || !gives_back(known->symbol)) return false;
            made.jumps.push_back({number, exit.file_offset});
            return true;
        };
        return std::erase_if(function.exits, is_jump) != 0;
    }

    // If a function ends with a jump to another, its result is known where that one ends. If that
    // place is unknown, use the kernel's return probe, unless exceptions may pass.
    bool see_result(std::uint32_t file, binaries::FunctionCalls& function) {
        auto program = code.program(file);
        if (!program) return false;
        std::vector<binaries::FunctionExit> exits;
        if (follow_exits(code, file, function, true, exits)) {
            function.exits = std::move(exits);
            return true;
        }
        if ((*program)->exceptions_may_pass()) return false;
        function.exits.clear();
        function.return_probe = true;
        return true;
    }

    void note(std::string text) {
        constexpr std::size_t most = 20;
        if (made.reported.notes.size() < most) made.reported.notes.push_back(std::move(text));
    }

    void describe() {
        for (std::size_t number = 0; number < made.functions.size(); ++number) {
            calls::ObjectFunction one;
            one.function = reported_function(made.functions[number], made.files, {});
            one.role = static_cast<ObjectRole>(made.described[number].role);
            one.class_number = made.described[number].class_number;
            made.reported.functions.push_back(std::move(one));
        }
        for (const MemoryFunction& planned : made.memory) {
            calls::ObjectFunction one;
            one.function.name = planned.name;
            one.function.module = printable(made.files[made.memory_file].path);
            one.function.level = 1;
            one.function.entry = planned.entry;
            one.class_number = static_cast<std::uint32_t>(made.reported.classes.size());
            made.reported.functions.push_back(std::move(one));
        }
    }

    [[nodiscard]] Error nothing(const ObjectWishes& wishes) const {
        std::string names;
        for (const calls::ObjectRule& rule : wishes.rules)
            names += (names.empty() ? "" : ", ") +
                     (rule.class_pattern.empty() ? rule.name : "class " + rule.class_pattern);
        if (!made.reported.refused.empty())
            return make_error(ErrorKind::Unsupported,
                              fmt::format("no function of {} can be probed: {}", names,
                                          made.reported.refused.front().reason));
        return make_error(
            ErrorKind::Unsupported,
            fmt::format(
                "no function of {} is in {} or in its loaded files. Check the name, and that the "
                "file has symbols: `lagtrap list-markers --functions {}` lists them",
                names, code.files().front().file.path, code.files().front().file.path));
    }

    ProcessInspector& inspector;
    ProcessFiles code;
    std::uint32_t pid = 0;
    boost::regex include, exclude, class_expression;
    std::set<std::pair<std::uint32_t, std::uint64_t>> taken;
    std::set<std::uint32_t> created;  // classes of the rule with a function that creates them
    CodeNames code_names{code};
    ObjectPlan made;
};

ObjectPlanner::ObjectPlanner(ProcessInspector& inspector, const std::atomic<bool>& given_up)
    : search_(std::make_unique<Search>(inspector, given_up)) {}
ObjectPlanner::~ObjectPlanner() = default;

Result<ObjectPlan> ObjectPlanner::plan(const ObjectWishes& wishes) { return search_->plan(wishes); }
std::string ObjectPlanner::name_of(std::uint64_t address) {
    return search_->code_names.name_of(address);
}

}  // namespace lagtrap::daemon
