#include "trace/names/function_sources.hpp"

#include <algorithm>
#include <map>
#include <string>

namespace lagtrap::trace {
namespace {

// The module with this path that the process had mapped; if that is unknown, the only module with
// this path.
ModuleId module_of(const ModuleTable& modules, const std::string& path, std::uint32_t pid) {
    ModuleId only = unknown_module;
    std::size_t found = 0;
    for (ModuleId id = first_file_module; id < modules.size(); ++id) {
        const RecordedModule& module = modules.at(id);
        if (module.path != path) continue;
        if (std::any_of(module.users.begin(), module.users.end(),
                        [&](const auto& user) { return user.pid == pid; }))
            return id;
        only = id;
        ++found;
    }
    return found == 1 ? only : unknown_module;
}

}  // namespace

void FunctionSources::ask(StackTable& stacks, const ModuleTable& modules, std::uint32_t pid,
                          const std::vector<calls::Function>& functions,
                          const std::set<std::uint32_t>& wanted) {
    std::map<std::string, ModuleId> known;
    for (const std::uint32_t number : wanted) {
        if (number >= functions.size() || asked_.size() >= functions_limit) continue;
        const calls::Function& function = functions[number];
        const auto [module, is_new] = known.try_emplace(function.module, unknown_module);
        if (is_new) module->second = module_of(modules, function.module, pid);
        if (module->second == unknown_module) continue;
        CodeFrame frame;
        frame.module = module->second;
        frame.offset = function.entry;
        asked_.push_back({number, static_cast<FrameId>(stacks.frames().size())});
        stacks.frames().push_back(frame);
    }
}

// If functions are inlined at its begin, the last frame is the function itself.
void FunctionSources::fill(const StackTable& stacks,
                           std::vector<calls::Function>& functions) const {
    for (const Asked& one : asked_) {
        const CodeFrame* frame = &stacks.frames()[one.frame];
        while (frame->inlined_into != no_frame) frame = &stacks.frames()[frame->inlined_into];
        if (frame->source == no_name || frame->line == 0) continue;
        functions[one.function].source = stacks.name(frame->source);
        functions[one.function].line = frame->line;
    }
}

}  // namespace lagtrap::trace
