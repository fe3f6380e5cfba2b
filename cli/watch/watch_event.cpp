#include "cli/watch/watch_event.hpp"

#include <fmt/core.h>

#include "cli/add/add_offers.hpp"
#include "cli/add/event_names.hpp"
#include "core/text.hpp"
#include "settings/element_text.hpp"

namespace lagtrap::cli {
namespace {

// For an attribute: the file that the target runs.
std::string binary_of(const AddTarget& target) {
    return settings::attribute_text(target.outdated ? readable_file(target).string() : target.name);
}

std::string scope_of(const WatchWish& wish, bool by_program) {
    if (wish.pid)
        return fmt::format("    <scope pid=\"{}\"{}/>\n", *wish.pid,
                           wish.descendants ? " descendants=\"yes\"" : "");
    if (wish.target && !wish.target->unit.empty())
        return fmt::format("    <scope unit=\"{}\"/>\n",
                           settings::attribute_text(wish.target->unit));
    if (wish.target && by_program)
        return fmt::format("    <scope binary=\"{}\"/>\n", binary_of(*wish.target));
    return {};
}

std::string after_colon(const std::string& name) { return name.substr(name.rfind(':') + 1); }

std::string stage_element(const WatchWish& wish, const std::string& stage) {
    const bool in_kernel = !wish.syscall.empty() || !wish.tracepoint.empty();
    const char* const kind = !is_marker_name(stage) ? "function"
                             : in_kernel            ? "tracepoint"
                                                    : "usdt";
    const std::string name = is_marker_name(stage) ? after_colon(stage) : stage;
    const std::string binary = in_kernel && wish.target && !is_marker_name(stage)
                                   ? fmt::format(" binary=\"{}\"", binary_of(*wish.target))
                                   : "";
    return fmt::format("    <stage name=\"{}\" {}=\"{}\"{}/>\n",
                       settings::attribute_text(setting_name(name)), kind,
                       settings::attribute_text(stage), binary);
}

// In the kernel, another process may end what one has begun.
std::string key_of_machine(const WatchWish& wish) {
    return wish.key.empty() || wish.target ? "" : "    <key scope=\"machine\"/>\n";
}

std::string event_element(const WatchWish& wish, const std::string& what,
                          const std::string& markers, bool in_the_target) {
    const std::string program = wish.target ? wish.target->name : std::string("machine");
    std::string text = fmt::format("  <event name=\"{}\" threshold=\"{}\"",
                                   settings::attribute_text(event_name(program, what)),
                                   settings::attribute_text(wish.over));
    if (!key_of_machine(wish).empty()) text += " breach=\"end\"";
    if (in_the_target) text += fmt::format("\n         binary=\"{}\"", binary_of(*wish.target));
    text += ">\n" + scope_of(wish, !in_the_target) + key_of_machine(wish) + markers;
    for (const std::string& stage : wish.stages) text += stage_element(wish, stage);
    return text + "  </event>\n";
}

// "postgresql:query" matches "postgresql:query__start", but not "postgresql:query__parse__start".
bool is_begin(const std::string& probe, const std::string& wanted) {
    if (!probe.starts_with(wanted)) return false;
    const std::string_view rest = std::string_view(probe).substr(wanted.size());
    for (const std::string_view ending :
         {"", "__start", "__begin", "__entry", "_start", "_begin", "_entry"})
        if (rest == ending) return true;
    return false;
}

Result<std::string> usdt_element(const WatchWish& wish) {
    std::string list;
    for (const Offer& offer : probe_offers(*wish.target)) {
        const std::string begin = offer.title.substr(std::string_view("probes ").size());
        const std::string name = begin.substr(0, begin.find(' '));
        if (is_begin(name, wish.usdt))
            return event_element(wish, wish.usdt.substr(wish.usdt.find(':') + 1),
                                 offer.events.front().element, true);
        list += (list.empty() ? "" : ", ") + name;
    }
    return make_error(
        ErrorKind::NotFound,
        fmt::format("{} has no pair of probes that begins with {}; {}", wish.target->name,
                    printable(wish.usdt), list.empty() ? "it has no pairs" : "it has " + list));
}

std::string tracepoint_element(const WatchWish& wish) {
    const auto marker = [&](const char* point, const std::string& tracepoint) {
        return fmt::format(
            "    <{} tracepoint=\"{}\"{}/>\n", point, settings::attribute_text(tracepoint),
            wish.key.empty() ? "" : fmt::format(" key=\"{}\"", settings::attribute_text(wish.key)));
    };
    return event_element(wish, after_colon(wish.tracepoint),
                         marker("begin", wish.tracepoint) + marker("end", wish.until), false);
}

}  // namespace

bool is_marker_name(const std::string& text) {
    return text.find(':') != std::string::npos && text.find("::") == std::string::npos;
}

Result<std::string> watch_element(const WatchWish& wish) {
    if (!wish.preset.empty()) {
        std::string text =
            fmt::format("  <use preset=\"{}\"", settings::attribute_text(wish.preset));
        if (!wish.over.empty())
            text += fmt::format(" threshold=\"{}\"", settings::attribute_text(wish.over));
        const std::string scope = scope_of(wish, false);
        return text + (scope.empty() ? "/>\n" : ">\n" + scope + "  </use>\n");
    }
    if (wish.over.empty())
        return make_error(ErrorKind::Invalid,
                          "--over is missing: the time from which a run is slow, such as 50ms");
    if (!wish.syscall.empty())
        return event_element(wish, wish.syscall,
                             fmt::format("    <begin tracepoint=\"syscalls:sys_enter_{0}\"/>\n"
                                         "    <end tracepoint=\"syscalls:sys_exit_{0}\"/>\n",
                                         settings::attribute_text(wish.syscall)),
                             false);
    if (!wish.tracepoint.empty()) return tracepoint_element(wish);
    if (!wish.target)
        return make_error(ErrorKind::Invalid,
                          "--in is missing: the program, process or unit to watch");
    if (!wish.usdt.empty()) return usdt_element(wish);
    return event_element(
        wish, wish.function,
        fmt::format("    <function name=\"{}\"/>\n", settings::attribute_text(wish.function)),
        true);
}

}  // namespace lagtrap::cli
