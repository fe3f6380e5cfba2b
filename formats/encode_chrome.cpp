#include "formats/encoders.hpp"
#include "formats/text_pieces.hpp"

namespace lagtrap::formats {

namespace {

class ChromeTrace {
  public:
    explicit ChromeTrace(const StackProfile& profile) : profile_(profile) {}

    std::string write() {
        text_ =
            "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"title\":" + json_string(profile_.title) +
            ",\"host\":" + json_string(profile_.host) +
            ",\"version\":\"lagtrap " LAGTRAP_VERSION "\"},\"traceEvents\":[";
        for (const ProfiledThread& thread : profile_.threads) {
            name("process_name", thread, thread.process);
            name("thread_name", thread, thread.name);
        }
        for (const ProfiledThread& thread : profile_.threads) add_thread(thread);
        for (const Span& span : profile_.spans) add_span(span);
        return text_ + "\n]}\n";
    }

  private:
    struct OpenCall {
        std::uint32_t node;
        std::uint64_t begin_ns;
    };

    void event(const std::string& fields) {
        text_ += first_ ? "\n{" : ",\n{";
        text_ += fields + "}";
        first_ = false;
    }

    static std::string ids(std::uint32_t pid, std::uint32_t tid) {
        return "\"pid\":" + std::to_string(pid) + ",\"tid\":" + std::to_string(tid);
    }

    void name(const char* what, const ProfiledThread& thread, const std::string& value) {
        event("\"ph\":\"M\",\"name\":\"" + std::string(what) + "\"," + ids(thread.pid, thread.tid) +
              ",\"args\":{\"name\":" + json_string(value) + "}");
    }

    // A call that continues from one piece into the next becomes one slice.
    void add_thread(const ProfiledThread& thread) {
        open_.clear();
        std::uint64_t until_ns = 0;
        for (const Piece& piece : thread.pieces) {
            const auto path = profile_.path_of(piece.leaf);
            std::size_t shared = 0;
            if (piece.begin_ns == until_ns)
                while (shared < open_.size() && shared < path.size() &&
                       open_[shared].node == path[shared])
                    ++shared;
            close(thread, shared, until_ns);
            for (std::size_t i = shared; i < path.size(); ++i)
                open_.push_back({path[i], piece.begin_ns});
            until_ns = piece.begin_ns + piece.length_ns;
        }
        close(thread, 0, until_ns);
    }

    void close(const ProfiledThread& thread, std::size_t depth, std::uint64_t end_ns) {
        while (open_.size() > depth) {
            const OpenCall call = open_.back();
            open_.pop_back();
            const Place& place = profile_.places[profile_.nodes[call.node].place];
            std::string fields =
                "\"ph\":\"X\",\"name\":" + json_string(place.function) + ",\"cat\":\"" +
                (place.state    ? "state"
                 : place.kernel ? "kernel"
                                : "user") +
                "\"," + ids(thread.pid, thread.tid) + ",\"ts\":" + decimal(call.begin_ns, 3) +
                ",\"dur\":" + decimal(end_ns - call.begin_ns, 3);
            if (!place.module.empty())
                fields += ",\"args\":{\"module\":" + json_string(place.module) + "}";
            event(fields);
        }
    }

    void add_span(const Span& span) {
        const std::string fields = "\"name\":" + json_string(span.name) +
                                   ",\"cat\":\"run\",\"id\":\"" + std::to_string(span.run) + "\"," +
                                   ids(span.pid, span.tid);
        event("\"ph\":\"b\"," + fields + ",\"ts\":" + decimal(span.begin_ns, 3) +
              ",\"args\":{\"event\":" + json_string(span.event) +
              ",\"delay\":" + (span.delay ? "true" : "false") + "}");
        event("\"ph\":\"e\"," + fields + ",\"ts\":" + decimal(span.begin_ns + span.length_ns, 3));
    }

    const StackProfile& profile_;
    std::string text_;
    std::vector<OpenCall> open_;
    bool first_ = true;
};

}  // namespace

std::string encode_chrome(const StackProfile& profile) { return ChromeTrace(profile).write(); }

}  // namespace lagtrap::formats
