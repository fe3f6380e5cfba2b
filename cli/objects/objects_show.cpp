#include "cli/objects/objects_show.hpp"

#include <utility>

#include <fmt/core.h>

#include "cli/console/text_layout.hpp"

namespace lagtrap::cli {

ObjectsShow::ObjectsShow(const ObjectsOptions& options, Console& console, std::uint64_t marked_ns)
    : options_(options),
      console_(console),
      look_{{console.paint, console.columns, options.all}, marked_ns} {}

Status ObjectsShow::prepare() {
    if (options_.record.empty()) return success();
    record_.open(options_.record, std::ios::trunc);
    return record_ ? success() : Status(system_error(options_.record));
}

Status ObjectsShow::show(const std::string& line) {
    TRY_ASSIGN(calls::ObjectsReply reply, calls::parse_objects_reply(line));
    const bool begins = reply.started.has_value(), ends = reply.ended.has_value();
    const auto detached = reply.detached;
    std::vector<calls::ObjectNode> trees;
    TRY(summary_.add(std::move(reply), &trees));
    if (record_.is_open() && !(record_ << line << '\n')) return system_error(options_.record);
    if (options_.json) {
        console_.out << line << "\n";
    } else {
        if (begins) console_.out << objects_started_text(summary_.started(), look_.look);
        if (options_.tree)
            for (const calls::ObjectNode& one : trees)
                console_.out << object_tree_text(one, summary_.started(), look_);
        if (detached)
            console_.out << objects_detached_text(*detached, summary_.started(), look_.look);
        if (ends) console_.out << objects_ended_text(summary_, options_.top, look_);
    }
    console_.out.flush();
    return success();
}

void ObjectsShow::show_so_far() {
    if (options_.json || !summary_.has_begun()) return;
    summary_.end_here();
    console_.out << objects_summary_text(summary_, options_.top, look_)
                 << fmt::format("\nInterrupted here after {}; the watch continues there.\n",
                                format_duration_ns(summary_.ended()->length_ns));
    console_.out.flush();
}

}  // namespace lagtrap::cli
