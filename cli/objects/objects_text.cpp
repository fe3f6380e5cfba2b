#include "cli/objects/objects_text.hpp"

#include <algorithm>
#include <filesystem>

#include <fmt/core.h>

#include "cli/calls/trace_text.hpp"
#include "cli/console/text_layout.hpp"
#include "core/duration.hpp"

namespace lagtrap::cli {
namespace {

using calls::ObjectCall;
using calls::ObjectNode;
using calls::ObjectRole;
using calls::ObjectState;

constexpr std::size_t max_lines_of_tree = 200;
constexpr std::size_t call_figures_width = 24;

// "+4.1 KiB", "-96 B"; empty for 0.
std::string change(std::int64_t bytes) {
    if (bytes == 0) return "";
    return (bytes < 0 ? "-" : "+") +
           format_byte_size(static_cast<std::uint64_t>(bytes < 0 ? -bytes : bytes));
}

// A descriptor number, or an address.
std::string number_of(std::uint64_t object) {
    constexpr std::uint64_t first_address = 1 << 20;
    return object < first_address ? std::to_string(object) : fmt::format("0x{:x}", object);
}

std::string object_name(const std::string& title, std::uint64_t object) {
    return title.empty() ? number_of(object) : fmt::format("{} \"{}\"", number_of(object), title);
}

std::string file_of(const calls::Function& function) {
    return std::filesystem::path(function.module).filename().string();
}

class TreeRows {
  public:
    TreeRows(const calls::ObjectsStarted& started, const ObjectsLook& look)
        : started_(started), look_(look) {}

    void add(const ObjectNode& node, std::size_t indent) {
        if (lines_ >= max_lines_of_tree && !look_.look.all) {
            ++left_out_;
        } else {
            ++lines_;
            text_ += row(node.call, indent);
        }
        for (const ObjectNode& one : node.below) add(one, indent + 1);
    }
    [[nodiscard]] std::string take() {
        if (left_out_ != 0)
            text_ += fmt::format("{}  and {} more calls; --all shows them\n",
                                 std::string(call_figures_width, ' '), with_commas(left_out_));
        return std::move(text_);
    }

  private:
    [[nodiscard]] std::string row(const ObjectCall& call, std::size_t indent) const {
        const calls::ObjectFunction& function = started_.functions[call.function];
        const bool marked = look_.marked_ns != 0 && net_ns(call) >= look_.marked_ns;
        const std::int64_t bytes = static_cast<std::int64_t>(call.taken_bytes) -
                                   static_cast<std::int64_t>(call.given_bytes);
        const std::string time = pad_left(duration(net_ns(call)), 10);
        std::string name =
            std::string(2 * indent, ' ') + sign(function.role) + function.function.name;
        std::string rest = "  " + object_name(call.title, call.object);
        if (call.state == ObjectState::After || call.state == ObjectState::Twice)
            rest += fmt::format("  {}", calls::name_of(call.state));
        if (call.failed) rest += "  " + calls::error_of(call);
        const std::size_t room =
            look_.look.columns - std::min(look_.look.columns - 1, call_figures_width);
        if (width_of(name) > room) name = cut_middle(name, room);
        rest = look_.look.all ? rest : cut_end(rest, room - std::min(room, width_of(name)));
        const bool wrong =
            call.failed || call.state == ObjectState::After || call.state == ObjectState::Twice;
        return fmt::format(
            "{} {}  {}{}\n", marked ? look_.look.paint(Colour::Yellow, time) : time,
            pad_left(change(bytes), 11), look_.look.paint(colour(function.role, wrong), name),
            wrong ? look_.look.paint(Colour::Red, rest) : look_.look.paint(Colour::Dim, rest));
    }

    static const char* sign(ObjectRole role) {
        if (role == ObjectRole::Create) return "+ ";
        return role == ObjectRole::Release ? "- " : "  ";
    }

    static Colour colour(ObjectRole role, bool wrong) {
        if (wrong) return Colour::Red;
        if (role == ObjectRole::Create) return Colour::Green;
        return role == ObjectRole::Release ? Colour::Yellow : Colour::Blue;
    }

    const calls::ObjectsStarted& started_;
    const ObjectsLook& look_;
    std::string text_;
    std::size_t lines_ = 0;
    std::uint64_t left_out_ = 0;
};

std::string failures_text(const std::vector<calls::ObjectFailure>& failures,
                          const calls::ObjectsStarted& started, std::size_t top,
                          const CallsLook& look, const char* more_option) {
    if (failures.empty()) return "No call failed.\n\n";
    std::string text = look.paint(Colour::Bold, "Failures") + "\n";
    for (std::size_t i = 0; i < std::min(failures.size(), top); ++i) {
        const calls::ObjectFailure& one = failures[i];
        const calls::ObjectFunction& function = started.functions[one.function];
        text += fmt::format(
            "{}  {} ({})\n", pad_left(with_commas(one.count), 9),
            look.paint(Colour::Red, cut_middle(function.function.name, look.columns - 40)),
            file_of(function.function));
        text += wrap_words(one.error, look.columns, 13);
        if (one.object != 0 || !one.title.empty())
            text +=
                fmt::format("             {}: {}\n", one.count > 1 ? "the first object" : "object",
                            object_name(one.title, one.object));
    }
    if (failures.size() > top)
        text += fmt::format("  and {}; {} shows more\n",
                            counted(failures.size() - top, "other", "others"), more_option);
    return text + "\n";
}

std::string classes_text(const calls::ObjectsEnded& ended, const calls::ObjectsStarted& started,
                         const CallsLook& look) {
    std::string text =
        look.paint(Colour::Bold, "    created   released      alive   failures  objects") + "\n";
    std::string wrong;
    for (std::size_t number = 0; number < std::min(ended.classes.size(), started.classes.size());
         ++number) {
        const calls::ClassCounts& one = ended.classes[number];
        const std::string& name = started.classes[number];
        if (one.created == 0 && one.released == 0 && one.failures == 0 && one.unknown == 0)
            continue;
        text += fmt::format("{} {} {} {}  {}\n", pad_left(with_commas(one.created), 11),
                            pad_left(with_commas(one.released), 10),
                            pad_left(with_commas(one.alive), 10),
                            pad_left(with_commas(one.failures), 10), name);
        const auto say = [&](std::uint64_t count, const char* what, const char* rest) {
            const std::string whats = std::string(what) + "s";
            if (count != 0)
                wrong +=
                    wrap_words(fmt::format("{}: {} {}", name, counted(count, what, whats), rest),
                               look.columns, 2);
        };
        say(one.released_twice, "object", "released twice");
        say(one.used_after, "call",
            "on released objects, or on objects recreated by unwatched code");
        say(one.replaced, "object", "gone without a seen release");
        say(one.not_followed, "object", "not followed: the limit is 65,536 at once");
        say(one.unknown, "call", "on older objects, or on objects created by unwatched code");
    }
    return text + wrong + "\n";
}

std::string functions_text(std::vector<calls::ObjectFunctionTotals> totals,
                           const calls::ObjectsStarted& started, std::size_t top,
                           const CallsLook& look, const char* more_option) {
    if (totals.empty())
        return "No call of these functions ended; the process may have been waiting all the "
               "time.\n";
    std::stable_sort(totals.begin(), totals.end(),
                     [](const auto& a, const auto& b) { return a.elapsed_ns > b.elapsed_ns; });
    std::string text =
        look.paint(Colour::Bold, "       time       mean       calls   failures  function") + "\n";
    for (std::size_t i = 0; i < std::min(totals.size(), top); ++i) {
        const calls::ObjectFunctionTotals& one = totals[i];
        text += fmt::format(
            "{} {} {} {}  {}\n", pad_left(duration(one.elapsed_ns), 11),
            pad_left(duration(one.elapsed_ns / std::max<std::uint64_t>(one.calls, 1)), 10),
            pad_left(with_commas(one.calls), 11), pad_left(with_commas(one.failures), 10),
            cut_middle(started.functions[one.function].function.name,
                       look.columns - std::min<std::size_t>(look.columns - 1, 47)));
    }
    if (totals.size() > top)
        text += fmt::format("  and {}; {} shows more\n",
                            counted(totals.size() - top, "other", "others"), more_option);
    return text;
}

// Same class and same place of creation.
bool is_created_alike(const calls::OldObject& one, const calls::OldObject& other) {
    return one.class_number == other.class_number && one.stack == other.stack &&
           one.caller == other.caller && one.shares_stack == other.shares_stack;
}

// The callers that led to its creation, innermost first.
std::string creation_text(const calls::OldObject& one, const calls::ObjectsEnded& ended,
                          const CallsLook& look) {
    constexpr std::size_t indent = 24, max_frames = 12;
    if (one.stack == 0)
        return one.caller.empty() ? "" : wrap_words("by " + one.caller, look.columns, indent);
    const calls::CreationStack& stack = ended.stacks[one.stack - 1];
    const std::size_t shown =
        look.all ? stack.frames.size() : std::min(stack.frames.size(), max_frames);
    std::string text;
    for (std::size_t at = 0; at < shown; ++at)
        text +=
            wrap_words((at == 0 ? "by " : "") + (stack.frames[at].empty() ? "?" : stack.frames[at]),
                       look.columns, at == 0 ? indent : indent + 3);
    if (shown < stack.frames.size())
        text += wrap_words(fmt::format("and {} more; --all shows them",
                                       counted(stack.frames.size() - shown, "caller", "callers")),
                           look.columns, indent + 3);
    if (stack.cut) text += wrap_words("caller unknown", look.columns, indent + 3);
    if (one.shares_stack)
        text +=
            wrap_words("(of another object created by the same call)", look.columns, indent + 3);
    if (stack.alive > 1)
        text += wrap_words(fmt::format("{} objects from here are alive", with_commas(stack.alive)),
                           look.columns, indent + 3);
    return text;
}

std::string alive_text(const calls::ObjectsEnded& ended, const calls::ObjectsStarted& started,
                       const CallsLook& look) {
    if (ended.oldest.empty()) return "";
    std::string text =
        "\n" + look.paint(Colour::Bold, "Oldest live objects, and where they were created") + "\n";
    for (std::size_t at = 0; at < ended.oldest.size(); ++at) {
        const calls::OldObject& one = ended.oldest[at];
        text += fmt::format("{} {}  {} {}, {}\n", pad_left(duration(one.age_ns), 11),
                            pad_left(change(one.bytes), 10), started.classes[one.class_number],
                            object_name(one.title, one.object), counted(one.uses, "call", "calls"));
        const bool goes_on =
            at + 1 < ended.oldest.size() && is_created_alike(one, ended.oldest[at + 1]);
        if (!goes_on) text += creation_text(one, ended, look);
    }
    if (ended.stacks_lost != 0)
        text += wrap_words(
            fmt::format("{} without a stack: at most 4,096 different stacks are kept.",
                        counted(ended.stacks_lost, "object was created", "objects were created")),
            look.columns, 2);
    return text;
}

}  // namespace

std::string objects_started_text(const calls::ObjectsStarted& started, const CallsLook& look) {
    std::size_t roles[5] = {};
    for (const calls::ObjectFunction& one : started.functions)
        if (one.class_number < started.classes.size()) ++roles[static_cast<std::size_t>(one.role)];
    std::string names;
    constexpr std::size_t most = 6;
    for (std::size_t i = 0; i < std::min(started.classes.size(), most); ++i)
        names += (i == 0 ? "" : ", ") + started.classes[i];
    if (started.classes.size() > most)
        names += " and " + counted(started.classes.size() - most, "other", "others");
    std::string text = look.paint(Colour::Bold, "Objects") +
                       fmt::format(" of {} ({})\n", started.process, started.pid);
    text += wrap_words(names, look.columns, 2);
    text += wrap_words(
        fmt::format("functions watched: {} that create, {} that use, {} that release{}", roles[1],
                    roles[2], roles[3],
                    roles[4] == 0 ? "" : fmt::format(", {} that return errors", roles[4])),
        look.columns, 2);
    if (!started.memory.empty())
        text += wrap_words("memory not counted: " + started.memory, look.columns, 2);
    for (const std::string& note : started.notes) text += wrap_words(note, look.columns, 2);
    text += refused_text(started.refused, look) + beyond_limit_text(started.beyond_limit);
    return text + attached_text(started.attached_by, started.plan_ns, started.attach_ns, look);
}

std::string object_tree_text(const ObjectNode& root, const calls::ObjectsStarted& started,
                             const ObjectsLook& look) {
    TreeRows rows(started, look);
    rows.add(root, 0);
    return fmt::format("{} ({})\n", root.call.thread, root.call.tid) + rows.take();
}

std::string objects_detached_text(const std::vector<calls::DetachedFunction>& detached,
                                  const calls::ObjectsStarted& started, const CallsLook& look) {
    std::string text;
    for (const calls::DetachedFunction& one : detached) {
        const calls::ObjectFunction& function = started.functions[one.function];
        const bool memory = function.class_number >= started.classes.size();
        const std::string rate = one.calls_per_second == 0
                                     ? "with others of its class"
                                     : with_commas(one.calls_per_second) + " calls per second";
        text += wrap_words(fmt::format("detached: {}, {}{}", function.function.name, rate,
                                       memory ? "; memory is no longer counted"
                                       : function.role == ObjectRole::Use
                                           ? ""
                                           : "; " + started.classes[function.class_number] +
                                                 " is no longer followed"),
                           look.columns, 2);
    }
    return text;
}

std::string objects_summary_text(const calls::ObjectsSummary& summary, std::size_t top,
                                 const ObjectsLook& look) {
    const calls::ObjectsStarted& started = summary.started();
    const calls::ObjectsEnded& ended = *summary.ended();
    std::string text = failures_text(summary.failures(), started, top, look.look, look.more_option);
    text += classes_text(ended, started, look.look);
    text += functions_text(ended.totals, started, top, look.look, look.more_option);
    if (!summary.longest().empty())
        text += "\n" + look.look.paint(Colour::Bold, "Longest calls, with their callees") + "\n";
    for (const ObjectNode& one : summary.longest()) text += object_tree_text(one, started, look);
    return text + alive_text(ended, started, look.look);
}

std::string objects_ended_text(const calls::ObjectsSummary& summary, std::size_t top,
                               const ObjectsLook& look) {
    const calls::ObjectsEnded& ended = *summary.ended();
    return objects_summary_text(summary, top, look) +
           end_text({ended.reason, counted(ended.sent, "call", "calls") + " reported",
                     ended.length_ns, ended.detach_ns, ended.not_sent, ended.too_deep, 64});
}

}  // namespace lagtrap::cli
