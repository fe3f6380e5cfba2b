#include "server/api/bundle_routes.hpp"

#include <fcntl.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>

#include "core/files.hpp"
#include "formats/format_table.hpp"
#include "server/api/delay_routes.hpp"
#include "server/api/json_reply.hpp"
#include "server/ingest/parse_bundle.hpp"
#include "server/ingest/parse_worker.hpp"

namespace lagtrap::server {
namespace {

constexpr std::uint32_t bundles_default = 100;
constexpr std::uint32_t bundle_delays_default = 1000;
constexpr std::size_t system_file_limit_bytes = 17U << 20;
constexpr std::chrono::seconds parse_pause{2};
constexpr std::chrono::seconds download_pause{10};
constexpr std::int64_t machine_reach_ns = 30LL * 86400 * 1'000'000'000;

Reply no_such_bundle() {
    return reply_of({404, "there is no such bundle", "it may have been removed for its age"});
}

Reply bad_bundle(const std::string& reason) {
    return reply_of({422, "the bundle is kept but cannot be read: " + reason});
}

std::string attachment_name(const BundleRow& row, const std::string& suffix) {
    const std::string session = row.facts.session_id.empty() ? "bundle" : row.facts.session_id;
    std::string name;
    for (const char letter : session)
        if (std::isalnum(static_cast<unsigned char>(letter)) != 0 || letter == '-') name += letter;
    return name + "-" + row.digest.substr(0, 16) + suffix;
}

void attach(Reply& reply, const std::string& name) {
    reply.headers.emplace_back("Content-Disposition", "attachment; filename=\"" + name + "\"");
}

json::object bundle_json(const BundleRow& row) {
    return {{"digest", row.digest},
            {"bytes", json_number(row.bytes)},
            {"received_ns", json_digits(row.received_realtime_ns)},
            {"started_ns", digits_or_null(row.facts.started_realtime_ns > 0
                                              ? std::optional(row.facts.started_realtime_ns)
                                              : std::nullopt)},
            {"host", row.facts.host},
            {"event", row.facts.event},
            {"process", row.facts.process},
            {"delays", row.facts.delays},
            {"longest_delay_ns", json_number(row.facts.longest_delay_ns)},
            {"bad_reason", text_or_null(row.bad_reason)},
            {"parsed", row.parsed},
            {"session", row.facts.session_id},
            {"sender", row.sender}};
}

// The row of a readable bundle, or the error reply.
std::variant<BundleRow, Reply> readable_bundle(const BundleStore& store, const Route& route) {
    auto row = store.find(route.arguments[0]);
    if (!row) return failure(row.error());
    if (!*row) return no_such_bundle();
    if (!(*row)->bad_reason.empty()) return bad_bundle((*row)->bad_reason);
    if (!(*row)->parsed)
        return reply_of({422, "the bundle has just come and is being looked into",
                         "try again in some seconds", parse_pause});
    return std::move(**row);
}

// The error reply if the bundle has no such delay.
std::optional<Reply> unless_there(const DelayStore& store, const BundleRow& row,
                                  std::uint64_t number) {
    const auto delay = store.find_delay(row.digest, static_cast<std::uint32_t>(number));
    if (!delay) return failure(delay.error());
    if (!*delay) return reply_of({404, "there is no such delay"});
    return std::nullopt;
}

Result<std::unique_ptr<ParseWorker>> start_worker(Blobs& blobs, const std::string& digest,
                                                  const ParseTask& task) {
    TRY_ASSIGN(const LocalBlob local, blobs.local(digest));
    TRY_ASSIGN(const UniqueFd file, open_file(local.path(), O_RDONLY));
    return ParseWorker::start(file.get(), task);
}

Reply worker_failure(const Error& error) {
    if (error.kind == ErrorKind::NotFound) return no_such_bundle();
    if (error.kind == ErrorKind::Busy) return failure(error);
    return bad_bundle(error.message);
}

Result<std::string> ask_worker(Blobs& blobs, const std::string& digest, const ParseTask& task,
                               std::size_t limit_bytes) {
    TRY_ASSIGN(const auto worker, start_worker(blobs, digest, task));
    return worker->read_all(limit_bytes);
}

void note_download(const DownloadParts& parts, const char* action, const Route& route) {
    parts.audit.note(who_of(parts.principal), action, route.arguments[0],
                     "from " + parts.request.sender);
}

class BlobSource final : public BodySource {
  public:
    explicit BlobSource(std::unique_ptr<BlobReader> reader) : reader_(std::move(reader)) {}
    Result<std::size_t> read(char* into, std::size_t size) override {
        auto got = reader_->read(offset_, into, size);
        if (got) offset_ += *got;
        return got;
    }

  private:
    std::unique_ptr<BlobReader> reader_;
    std::uint64_t offset_ = 0;
};

// A worker's output, whose first piece has been read already.
class WorkerSource final : public BodySource {
  public:
    WorkerSource(std::unique_ptr<ParseWorker> worker, std::string first,
                 std::shared_ptr<void> place)
        : place_(std::move(place)), worker_(std::move(worker)), first_(std::move(first)) {}
    Result<std::size_t> read(char* into, std::size_t size) override {
        if (taken_ == first_.size()) return worker_->read(into, size);
        const std::size_t part = std::min(size, first_.size() - taken_);
        std::copy_n(first_.data() + taken_, part, into);
        taken_ += part;
        return part;
    }

  private:
    std::shared_ptr<void> place_;  // declared first, so that it is released last
    std::unique_ptr<ParseWorker> worker_;
    std::string first_;
    std::size_t taken_ = 0;
};

// Streams the worker's output once its first piece is there. By then an error shows, while it can
// still become the reply's status.
Reply streamed(Blobs& blobs, const std::string& digest, const ParseTask& task,
               std::string_view nothing, const DownloadParts& parts) {
    auto place = parts.places.take(parts.sender);
    if (!place)
        return reply_of({429, "too many traces and exports are being downloaded",
                         "try again when one has come", download_pause});
    auto worker = start_worker(blobs, digest, task);
    if (!worker) return worker_failure(worker.error());
    std::string first(65536, '\0');
    const auto got = (*worker)->read(first.data(), first.size());
    if (!got) return worker_failure(got.error());
    if (*got == 0 && !nothing.empty()) return bad_bundle(std::string(nothing));
    first.resize(*got);
    Reply reply;
    reply.content_type = "application/octet-stream";
    if (!first.empty())
        reply.source = std::make_shared<WorkerSource>(std::move(worker).value(), std::move(first),
                                                      std::move(place));
    return reply;
}

}  // namespace

Reply list_bundles(const BundleStore& store, const Route& route) {
    const auto filter = read_filter(route, {});
    if (const auto* wrong = std::get_if<Refusal>(&filter)) return reply_of(*wrong);
    const auto page = read_page(route, bundles_default);
    if (const auto* wrong = std::get_if<Refusal>(&page)) return reply_of(*wrong);
    const auto& [limit, after] = std::get<PageQuestion>(page);
    const auto bundles = store.list_filtered(std::get<Filter>(filter), limit, after);
    if (!bundles) return failure(bundles.error());
    json::array rows;
    for (const BundleRow& row : bundles->bundles) rows.push_back(bundle_json(row));
    return json_reply(json::object{{"bundles", std::move(rows)}, {"next", next_of(bundles->next)}});
}

Reply has_bundle(const BundleStore& store, const Route& route) {
    const auto row = store.find(route.arguments[0]);
    if (!row) return failure(row.error());
    if (!*row) return no_such_bundle();
    Reply reply;
    reply.content_type = "application/zstd";
    reply.headers.emplace_back("X-Lagtrap-Digest", (*row)->digest);
    attach(reply, attachment_name(**row, ".lagtrap.tar.zst"));
    reply.announced_bytes = (*row)->bytes;
    return reply;
}

Reply get_bundle(const Evidence& evidence, Blobs& blobs, const Route& route,
                 const DownloadParts& parts) {
    Reply reply = has_bundle(evidence.bundles(), route);
    if (reply.status != 200) return reply;
    auto reader = blobs.open(route.arguments[0]);
    if (!reader && reader.error().kind == ErrorKind::NotFound) return no_such_bundle();
    if (!reader) return failure(reader.error());
    reply.announced_bytes = (*reader)->size_bytes();
    reply.source = std::make_shared<BlobSource>(std::move(reader).value());
    note_download(parts, "download bundle", route);
    return reply;
}

Reply list_delays(const Evidence& evidence, Blobs& blobs, const Route& route,
                  Neighbours neighbours) {
    const auto found = readable_bundle(evidence.bundles(), route);
    if (const auto* reply = std::get_if<Reply>(&found)) return *reply;
    const auto& row = std::get<BundleRow>(found);
    const auto question = read_delay_question(route, bundle_delays_default);
    if (const auto* wrong = std::get_if<Refusal>(&question)) return reply_of(*wrong);
    const auto& [number, order, part] = std::get<DelayQuestion>(question);
    DelayPage page;
    if (number) {
        auto one = evidence.delays().find_delay(row.digest, *number);
        if (!one) return failure(one.error());
        if (*one) page.delays.push_back(std::move(**one));
    } else {
        auto asked = evidence.delays().list_delays({}, row.digest, order, part.limit, part.after);
        if (!asked) return failure(asked.error());
        page = std::move(asked).value();
    }
    json::array list;
    json::value quality = nullptr;
    for (const StoredDelay& delay : page.delays) list.push_back(delay_json(delay, quality));
    if (list.size() > 1)
        for (json::value& delay : list)
            for (const char* long_part : {"cause", "surroundings"})
                delay.as_object()[long_part] = nullptr;
    if (neighbours == Neighbours::Hidden)
        for (json::value& delay : list) leave_out_neighbours(delay.as_object());
    if (quality.is_null()) {
        // A manual recording has no delay that would hold its quality.
        const auto text = ask_worker(blobs, row.digest, ParseTask{ParseTask::Kind::Quality},
                                     system_file_limit_bytes);
        json::error_code error;
        if (text) quality = json::parse(*text, error);
        if (!quality.is_object()) quality = json::object{};
    }
    if (neighbours == Neighbours::Hidden) leave_out_other_events(quality);
    return json_reply(json::object{{"bundle", bundle_json(row)},
                                   {"delays", std::move(list)},
                                   {"next", next_of(page.next)},
                                   {"quality", std::move(quality)}});
}

Reply get_system_file(const Evidence& evidence, Blobs& blobs, const Route& route,
                      const DownloadParts& parts) {
    const auto found = readable_bundle(evidence.bundles(), route);
    if (const auto* reply = std::get_if<Reply>(&found)) return *reply;
    auto xml = ask_worker(blobs, route.arguments[0], ParseTask{ParseTask::Kind::SystemFile},
                          system_file_limit_bytes);
    if (!xml) return worker_failure(xml.error());
    Reply reply;
    reply.content_type = "application/xml";
    reply.body = std::move(xml).value();
    reply.headers.emplace_back("Content-Security-Policy", "default-src 'none'; sandbox");
    note_download(parts, "download system file", route);
    return reply;
}

Reply get_trace(const Evidence& evidence, Blobs& blobs, const Route& route,
                const DownloadParts& parts) {
    const auto found = readable_bundle(evidence.bundles(), route);
    if (const auto* reply = std::get_if<Reply>(&found)) return *reply;
    Reply reply = streamed(blobs, route.arguments[0], ParseTask{ParseTask::Kind::Trace},
                           "its trace is empty", parts);
    if (reply.status != 200) return reply;
    attach(reply, attachment_name(std::get<BundleRow>(found), ".pftrace"));
    note_download(parts, "download trace", route);
    return reply;
}

Reply export_delay(const Evidence& evidence, Blobs& blobs, const Route& route,
                   const DownloadParts& parts) {
    const formats::Format* format = formats::find_format(route.parameter("format").value_or(""));
    if (format == nullptr || format->encode == nullptr)
        return reply_of({400, "\"format\": expected one of those that /api/v1/formats lists"});
    const auto time =
        formats::time_of_word(route.parameter("state").value_or(formats::word_of(format->time)));
    if (!time) return reply_of({400, "\"state\": expected all, on-cpu or off-cpu"});
    const auto number = read_digits(route.arguments[1]);
    if (!number || *number == 0 || *number > 100'000)
        return reply_of({404, "there is no such delay"});
    const auto found = readable_bundle(evidence.bundles(), route);
    if (const auto* reply = std::get_if<Reply>(&found)) return *reply;
    const auto& row = std::get<BundleRow>(found);
    if (auto reply = unless_there(evidence.delays(), row, *number)) return *reply;
    ParseTask task{ParseTask::Kind::Export};
    task.delay = static_cast<std::uint32_t>(*number);
    task.format = format->name;
    task.time = *time;
    Reply reply = streamed(blobs, route.arguments[0], task, {}, parts);
    if (reply.status != 200) return reply;
    reply.content_type = format->media_type;
    attach(reply, attachment_name(
                      row, "-delay" + std::to_string(*number) + "." + std::string(format->suffix)));
    return reply;
}

Reply list_formats() {
    json::array list;
    for (const formats::Format& format : formats::formats())
        if (format.encode != nullptr)
            list.push_back({{"name", format.name},
                            {"title", format.title},
                            {"use", format.use},
                            {"suffix", format.suffix},
                            {"state", formats::word_of(format.time)}});
    return json_reply(json::object{{"formats", std::move(list)}});
}

namespace {

// The worker's description of one delay, as JSON.
Reply describe_delay(const Evidence& evidence, Blobs& blobs, const Route& route, ParseTask task) {
    const auto number = read_digits(route.arguments[1]);
    if (!number || *number == 0 || *number > 100'000)
        return reply_of({404, "there is no such delay"});
    const auto found = readable_bundle(evidence.bundles(), route);
    if (const auto* reply = std::get_if<Reply>(&found)) return *reply;
    if (auto reply = unless_there(evidence.delays(), std::get<BundleRow>(found), *number))
        return *reply;
    task.delay = static_cast<std::uint32_t>(*number);
    auto text = ask_worker(blobs, route.arguments[0], task, timeline_limit_bytes);
    if (!text) return worker_failure(text.error());
    Reply reply;
    reply.body = std::move(text).value();
    return reply;
}

// Reads the window from the query; members that the query omits keep their values. False if it is
// malformed.
bool read_window(const Route& route, analysis::MachineWindow& window) {
    const auto read = [&](const char* name, auto& number) {
        const auto text = route.parameter(name);
        if (!text) return true;
        const auto end = text->data() + text->size();
        const auto parsed = std::from_chars(text->data(), end, number);
        return parsed.ec == std::errc() && parsed.ptr == end;
    };
    return read("from_ns", window.from_ns) && read("to_ns", window.to_ns) &&
           read("columns", window.columns);
}

}  // namespace

Reply get_timeline(const Evidence& evidence, Blobs& blobs, const Route& route) {
    return describe_delay(evidence, blobs, route, ParseTask{ParseTask::Kind::Timeline});
}

Reply get_machine(const Evidence& evidence, Blobs& blobs, const Route& route) {
    ParseTask task{ParseTask::Kind::Machine};
    // By default, everything there is.
    task.window = {-machine_reach_ns, machine_reach_ns, 1000};
    if (!read_window(route, task.window) || std::abs(task.window.from_ns) > machine_reach_ns ||
        std::abs(task.window.to_ns) > machine_reach_ns || task.window.from_ns >= task.window.to_ns)
        return reply_of({400,
                         "\"from_ns\", \"to_ns\": expected nanoseconds after the delay's begin, "
                         "the second larger"});
    if (task.window.columns < 10 || task.window.columns > 4000)
        return reply_of({400, "\"columns\": expected 10 to 4000"});
    return describe_delay(evidence, blobs, route, task);
}

}  // namespace lagtrap::server
