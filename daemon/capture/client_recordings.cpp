#include "daemon/capture/client_recordings.hpp"

#include <algorithm>
#include <chrono>
#include <system_error>
#include <utility>

#include <boost/json.hpp>

#include "core/files.hpp"

namespace lagtrap::daemon {
namespace {

namespace fs = std::filesystem;

// How soon a recording is removed after its client has disconnected.
constexpr std::chrono::milliseconds client_interval{100};

std::string error_line(const std::string& reason) {
    return boost::json::serialize(boost::json::object{{"ok", false}, {"error", reason}});
}

void remove_folder(const fs::path& folder) {
    std::error_code ignored;
    fs::remove_all(folder, ignored);
}

}  // namespace

ClientRecordings::ClientRecordings(boost::asio::io_context& context, fs::path folder)
    : folder_(std::move(folder)), timer_(context) {
    remove_folder(folder_);
}

ClientRecordings::~ClientRecordings() { remove_folder(folder_); }

const ClientRecordings::Entry* ClientRecordings::find(const std::string& session) const {
    const auto found = std::find_if(entries_.begin(), entries_.end(),
                                    [&](const Entry& entry) { return entry.session == session; });
    return found == entries_.end() ? nullptr : &*found;
}

Status ClientRecordings::begin(const std::string& session, std::shared_ptr<AnswerStream> client) {
    if (entries_.size() >= most)
        return make_error(
            ErrorKind::Busy,
            std::to_string(most) +
                " recordings of clients already exist; wait until one of these clients has ended");
    TRY(make_directories(folder_ / session / "bundle", 0700));
    (void)client->say(
        boost::json::serialize(boost::json::object{{"ok", true}, {"session", session}}));
    entries_.push_back({session, std::move(client)});
    await_clients();
    return success();
}

std::optional<StreamClient> ClientRecordings::client_of(const std::string& session) const {
    const Entry* const entry = find(session);
    return entry == nullptr ? std::nullopt : std::optional(entry->client->client());
}

fs::path ClientRecordings::folder_of(const std::string& session) const {
    return folder_ / session / "capture";
}

bool ClientRecordings::is_unwanted(const std::string& session) const {
    const Entry* const entry = find(session);
    return entry != nullptr && entry->client->is_unwanted();
}

std::optional<MergeQueue::Work> ClientRecordings::take_recorded(MergeQueue::Work work) {
    const Entry* const entry = find(work.session);
    if (entry == nullptr || entry->client->is_gone()) {
        fail(work.session, "the client has disconnected");
        return std::nullopt;
    }
    work.output = folder_ / work.session / "bundle";
    return share_recorded(std::move(work));
}

MergeQueue::Work ClientRecordings::share_recorded(MergeQueue::Work work) {
    work.then = [this, session = work.session](const Result<MergedBundle>& merged) {
        settle(session, merged);
    };
    return work;
}

void ClientRecordings::settle(const std::string& session, const Result<MergedBundle>& merged) {
    if (!merged) return fail(session, merged.error().message);
    finish(session, boost::json::serialize(boost::json::object{
                        {"ok", true}, {"session", session}, {"bundle", merged->path}}));
}

void ClientRecordings::fail(const std::string& session, const std::string& reason) {
    finish(session, error_line(reason));
}

void ClientRecordings::finish(const std::string& session, const std::string& last_line) {
    for (Entry& entry : entries_) {
        if (entry.session != session || !std::exchange(entry.at_work, false)) continue;
        remove_folder(folder_of(session));
        (void)entry.client->say(last_line);
    }
}

void ClientRecordings::await_clients() {
    timer_.expires_after(client_interval);
    timer_.async_wait([this](const auto& failure) {
        if (failure) return;
        std::erase_if(entries_, [this](const Entry& entry) {
            const bool over = !entry.at_work && entry.client->is_gone();
            if (over) remove_folder(folder_ / entry.session);
            return over;
        });
        if (!entries_.empty()) await_clients();
    });
}

}  // namespace lagtrap::daemon
