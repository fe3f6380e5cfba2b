#include "calls/object_summary.hpp"

#include <algorithm>
#include <utility>

#include <boost/json.hpp>

#include "core/json_number.hpp"

namespace lagtrap::calls {
namespace {

namespace json = boost::json;

constexpr std::size_t name_limit_bytes = 256;
constexpr std::size_t detached_limit = 4096;
// Does not cut within a UTF-8 character, whose continuation bytes begin with bits 10.
std::string shortened(const std::string& text) {
    if (text.size() <= name_limit_bytes) return text;
    std::size_t end = name_limit_bytes;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
    return text.substr(0, end);
}

std::uint64_t length_ns(const ObjectNode& node) { return node.call.end_ns - node.call.begin_ns; }

void flatten(const ObjectNode& node, std::size_t limit, std::vector<ObjectCall>& calls) {
    for (const ObjectNode& one : node.below) flatten(one, limit, calls);
    if (calls.size() < limit) calls.push_back(node.call);
}

void add_rows(const ObjectNode& node, std::uint64_t begin_ns, std::uint32_t depth,
              std::size_t limit, const ObjectsStarted& started, json::array& rows) {
    if (rows.size() >= limit) return;
    const ObjectCall& call = node.call;
    const ObjectFunction& function = started.functions[call.function];
    rows.push_back(
        {{"name", shortened(function.function.name)},
         {"module", shortened(function.function.module)},
         {"role", std::string(name_of(function.role))},
         {"depth", depth},
         {"tid", call.tid},
         {"begin_ns", json_number(call.begin_ns - std::min(begin_ns, call.begin_ns))},
         {"elapsed_ns", json_number(net_ns(call))},
         {"bytes", json_number(static_cast<std::int64_t>(call.taken_bytes - call.given_bytes))},
         {"object", json_number(call.object)},
         {"title", shortened(call.title)},
         {"state", std::string(name_of(call.state))},
         {"error", call.failed ? shortened(error_of(call)) : ""}});
    for (const ObjectNode& one : node.below)
        add_rows(one, begin_ns, depth + 1, limit, started, rows);
}

json::object row_of(const ClassCounts& one, const std::string& name) {
    return {{"name", shortened(name)},
            {"created", json_number(one.created)},
            {"released", json_number(one.released)},
            {"alive", json_number(one.alive)},
            {"failures", json_number(one.failures)},
            {"released_twice", json_number(one.released_twice)},
            {"used_after", json_number(one.used_after)},
            {"unknown", json_number(one.unknown)},
            {"replaced", json_number(one.replaced)},
            {"not_followed", json_number(one.not_followed)}};
}

json::object row_of(const CreationStack& stack) {
    json::array frames;
    for (const std::string& frame : stack.frames) frames.emplace_back(shortened(frame));
    return {{"alive", json_number(stack.alive)}, {"cut", stack.cut}, {"frames", std::move(frames)}};
}

}  // namespace

void add_rows_of_tree(const ObjectNode& root, const ObjectsStarted& started,
                      std::uint64_t origin_ns, std::size_t limit, json::array& rows) {
    add_rows(root, origin_ns, 0, limit, started, rows);
}

Status ObjectsSummary::check(const ObjectsReply& reply) const {
    const std::size_t functions =
        reply.started ? reply.started->functions.size() : started_.functions.size();
    bool good = reply.started ? !has_begun() : has_begun();
    const auto is_known = [&](const auto& one) { return one.function < functions; };
    const auto are_known = [&](const auto& all) {
        return !all || std::all_of(all->begin(), all->end(), is_known);
    };
    good = good && are_known(reply.calls) && are_known(reply.messages) &&
           are_known(reply.detached) && are_known(reply.failures);
    if (reply.ended) {
        good =
            good && std::all_of(reply.ended->totals.begin(), reply.ended->totals.end(), is_known);
        for (const OldObject& one : reply.ended->oldest)
            good = good && is_known(one) && one.class_number < started_.classes.size() &&
                   one.stack <= reply.ended->stacks.size();
    }
    return good ? success()
                : Status(make_error(ErrorKind::Invalid, "a line has an unknown function number"));
}

Status ObjectsSummary::add(ObjectsReply reply, std::vector<ObjectNode>* ended) {
    TRY(check(reply));
    if (reply.started) started_ = std::move(*reply.started);
    if (reply.calls)
        for (ObjectCall& call : *reply.calls) {
            failures_.add(call, started_.functions[call.function].role);
            count(call);
            for (ObjectNode& root : forest_.add(std::move(call))) take(std::move(root), ended);
        }
    if (reply.messages)
        for (const ObjectMessage& one : *reply.messages) failures_.add(one, started_.functions);
    if (reply.counts) counts_ = std::move(*reply.counts);
    if (reply.failures) reported_failures_ = std::move(*reply.failures);
    if (reply.detached)
        for (const DetachedFunction& one : *reply.detached)
            if (detached_.size() < detached_limit) detached_.push_back(one);
    if (reply.ended) {
        for (ObjectNode& root : forest_.take_waiting()) take(std::move(root), ended);
        ended_ = std::move(*reply.ended);
    }
    return success();
}

void ObjectsSummary::count(const ObjectCall& call) {
    ObjectFunctionTotals& totals = totals_[call.function];
    totals.function = call.function;
    ++totals.calls;
    totals.failures += call.failed ? 1 : 0;
    totals.elapsed_ns += net_ns(call);
}

void ObjectsSummary::end_here() {
    if (ended_) return;
    for (ObjectNode& root : forest_.take_waiting()) take(std::move(root), nullptr);
    ObjectsEnded& ended = ended_.emplace();
    if (counts_) {
        ended.classes = std::move(counts_->classes);
        ended.length_ns = counts_->at_ns - std::min(counts_->at_ns, started_.began_monotonic_ns);
    }
    ended.classes.resize(started_.classes.size());
    for (const auto& [function, totals] : totals_) {
        ended.totals.push_back(totals);
        ended.sent += totals.calls;
    }
}

// Keeps one tree per function; the same call again adds little.
void ObjectsSummary::take(ObjectNode root, std::vector<ObjectNode>* ended) {
    if (ended != nullptr) ended->push_back(root);
    const auto same = std::find_if(longest_.begin(), longest_.end(), [&](const auto& one) {
        return one.call.function == root.call.function;
    });
    if (same != longest_.end()) {
        if (length_ns(root) <= length_ns(*same)) return;
        longest_.erase(same);
    }
    const auto place = std::find_if(longest_.begin(), longest_.end(), [&](const auto& one) {
        return length_ns(root) > length_ns(one);
    });
    if (place == longest_.end() && longest_.size() >= max_kept) return;
    longest_.insert(place, std::move(root));
    if (longest_.size() > max_kept) longest_.pop_back();
}

std::vector<ObjectFailure> ObjectsSummary::failures() const {
    return reported_failures_ ? *reported_failures_ : failures_.all();
}

std::vector<std::string> ObjectsSummary::lines(std::size_t calls_limit) const {
    std::vector<std::string> lines;
    if (!has_begun()) return lines;
    lines.push_back(json::serialize(calls::to_json(started_)));
    std::vector<ObjectCall> calls;
    for (const ObjectNode& root : longest_) flatten(root, calls_limit, calls);
    if (!calls.empty()) lines.push_back(json::serialize(calls::to_json(calls)));
    lines.push_back(json::serialize(calls::to_json(failures())));
    if (!detached_.empty()) lines.push_back(json::serialize(calls::to_json(detached_)));
    if (ended_) lines.push_back(json::serialize(calls::to_json(*ended_)));
    return lines;
}

json::object ObjectsSummary::to_json(std::size_t rows_limit) const {
    json::array classes, failed, functions, longest, oldest;
    const ObjectsEnded ended = ended_.value_or(ObjectsEnded{});
    for (std::size_t at = 0;
         at < std::min({ended.classes.size(), started_.classes.size(), rows_limit}); ++at)
        classes.push_back(row_of(ended.classes[at], started_.classes[at]));
    for (const ObjectFailure& one : failures()) {
        if (failed.size() >= rows_limit) break;
        const Function& function = started_.functions[one.function].function;
        failed.push_back({{"function", shortened(function.name)},
                          {"module", shortened(function.module)},
                          {"count", json_number(one.count)},
                          {"error", shortened(one.error)},
                          {"object", json_number(one.object)},
                          {"title", shortened(one.title)}});
    }
    std::vector<ObjectFunctionTotals> totals = ended.totals;
    std::stable_sort(totals.begin(), totals.end(),
                     [](const auto& a, const auto& b) { return a.elapsed_ns > b.elapsed_ns; });
    for (const ObjectFunctionTotals& one : totals) {
        if (functions.size() >= rows_limit) break;
        const ObjectFunction& function = started_.functions[one.function];
        functions.push_back({{"name", shortened(function.function.name)},
                             {"module", shortened(function.function.module)},
                             {"role", std::string(name_of(function.role))},
                             {"calls", json_number(one.calls)},
                             {"failures", json_number(one.failures)},
                             {"elapsed_ns", json_number(one.elapsed_ns)}});
    }
    for (const ObjectNode& root : longest_)
        add_rows(root, root.call.begin_ns, 0, rows_limit * 5, started_, longest);
    for (const OldObject& one : ended.oldest) {
        if (oldest.size() >= rows_limit) break;
        oldest.push_back(
            {{"class", shortened(started_.classes[one.class_number])},
             {"object", json_number(one.object)},
             {"title", shortened(one.title)},
             {"age_ns", json_number(one.age_ns)},
             {"uses", json_number(one.uses)},
             {"bytes", json_number(one.bytes)},
             {"caller", shortened(one.caller)},
             {"shares_stack", one.shares_stack},
             {"stack", one.stack == 0 ? json::value(nullptr)
                                      : json::value(row_of(ended.stacks[one.stack - 1]))}});
    }
    return {{"pid", started_.pid},
            {"process", shortened(started_.process)},
            {"length_ns", json_number(ended.length_ns)},
            {"memory", shortened(started_.memory)},
            {"reported", json_number(ended.sent)},
            {"not_reported", json_number(ended.not_sent)},
            {"detached", detached_.size()},
            {"classes", std::move(classes)},
            {"failures", std::move(failed)},
            {"functions", std::move(functions)},
            {"longest", std::move(longest)},
            {"oldest", std::move(oldest)}};
}

}  // namespace lagtrap::calls
