#include "server/reports/tree_names.hpp"

#include <string_view>
#include <utility>

#include "analysis/plumbing.hpp"
#include "server/reports/frame_names.hpp"

namespace lagtrap::server::reports {

std::uint32_t TreeNames::number_of(std::string function, std::string module, NameKind kind) {
    if (bytes_ > bytes_limit) {
        function = "[other]";
        module.clear();
    }
    const std::string key = function + '\0' + module + '\0' + static_cast<char>(kind);
    const auto [known, added] =
        numbers_.try_emplace(key, static_cast<std::uint32_t>(names_.size()));
    if (added) {
        bytes_ += key.size();
        names_.push_back({{std::move(function), std::move(module)}, kind});
    }
    return known->second;
}

std::optional<std::uint32_t> TreeNames::number_of(const analysis::ProfileFrame& frame) {
    const std::string key =
        frame.function + '\0' + frame.module + '\0' + (frame.kernel ? 'k' : 'u');
    if (const auto known = of_frames_.find(key); known != of_frames_.end()) return known->second;
    if (bytes_ > bytes_limit) return std::nullopt;
    bytes_ += key.size();
    const std::string_view function = stable_function(frame.function);
    const std::string_view module = stable_module(frame.module);
    const bool hidden =
        frame.kernel ? analysis::is_kernel_plumbing(frame.function) : is_run_time(function, module);
    std::uint32_t number = part_of_caller;
    if (!hidden) {
        number = number_of(std::string(function), std::string(module), NameKind::Function);
        names_[number].of_kernel = frame.kernel;
    }
    of_frames_.emplace(key, number);
    return number;
}

std::uint32_t TreeTexts::number_of(const std::string& text) {
    const auto [known, added] =
        numbers_.try_emplace(text, static_cast<std::uint32_t>(texts_.size()));
    if (added) texts_.push_back(text);
    return known->second;
}

std::uint32_t TreeTexts::number_of_thread(const std::string& name) {
    if (const auto known = numbers_.find(name); known != numbers_.end()) return known->second;
    if (thread_bytes_ + name.size() > threads_limit_bytes) return 0;
    thread_bytes_ += name.size();
    return number_of(name);
}

}  // namespace lagtrap::server::reports
