// Recordings that clients of the control socket asked for. Each has a folder of its own below the
// spool, outside the folders that the uploader sends from, and is removed when its client
// disconnects.
#pragma once

#include <cstddef>
#include <deque>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "core/result.hpp"
#include "daemon/control/answer_stream.hpp"
#include "daemon/merges/merge_queue.hpp"

namespace lagtrap::daemon {

// Use it only on the io_context's thread.
class ClientRecordings {
  public:
    // At once: those that record, wait for their merge, or whose client still reads them.
    static constexpr std::size_t most = 4;

    // Removes what an earlier daemon left in `folder`, which is made with the first recording.
    ClientRecordings(boost::asio::io_context& context, std::filesystem::path folder);
    // Removes all.
    ~ClientRecordings();
    ClientRecordings(const ClientRecordings&) = delete;
    ClientRecordings& operator=(const ClientRecordings&) = delete;

    // The recording of this session begins; tells the client. ErrorKind::Busy: there are too many.
    [[nodiscard]] Status begin(const std::string& session, std::shared_ptr<AnswerStream> client);
    [[nodiscard]] bool knows(const std::string& session) const { return find(session) != nullptr; }
    // Whose recording it is; nullopt if it is no client's.
    [[nodiscard]] std::optional<StreamClient> client_of(const std::string& session) const;
    // Where the capture goes.
    [[nodiscard]] std::filesystem::path folder_of(const std::string& session) const;
    // True if the client wants the recording to end now, or has disconnected.
    [[nodiscard]] bool is_unwanted(const std::string& session) const;

    // The recording is complete. Returns the work of its merge, with a bundle for the client only;
    // nullopt if the client has disconnected.
    [[nodiscard]] std::optional<MergeQueue::Work> take_recorded(MergeQueue::Work work);
    // The same for a recording that is kept in the spool too, whether or not the client is there.
    [[nodiscard]] MergeQueue::Work share_recorded(MergeQueue::Work work);
    // There will be no bundle; tells the client why.
    void fail(const std::string& session, const std::string& reason);

  private:
    struct Entry {
        std::string session;
        std::shared_ptr<AnswerStream> client;
        bool at_work = true;  // until there is a bundle or an error
    };
    [[nodiscard]] const Entry* find(const std::string& session) const;
    void settle(const std::string& session, const Result<MergedBundle>& merged);
    void finish(const std::string& session, const std::string& last_line);
    void await_clients();

    std::filesystem::path folder_;
    std::deque<Entry> entries_;
    boost::asio::steady_timer timer_;
};

}  // namespace lagtrap::daemon
