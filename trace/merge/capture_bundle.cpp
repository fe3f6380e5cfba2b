#include "trace/merge/capture_bundle.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <optional>
#include <system_error>

#include <boost/json.hpp>

#include "core/fault_point.hpp"
#include "core/files.hpp"
#include "trace/logs/session.hpp"

namespace lagtrap::trace {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

constexpr const char* note_name = "bundle.json";
constexpr std::uint64_t note_limit_bytes = 4096;

// A complete bundle: its name in the spool, and its temporary name until then.
struct Note {
    std::string name;
    std::string beside;
    std::string digest;
    std::uint64_t size_bytes = 0;
};

// The lock ends with the descriptor, and therefore with its process.
Result<UniqueFd> lock_capture(const fs::path& capture) {
    TRY_ASSIGN(UniqueFd fd, open_file(capture, O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
    while (::flock(fd.get(), LOCK_EX) != 0)
        if (errno != EINTR) return system_error("locking " + capture.string());
    return fd;
}

bool is_plain_name(const std::string& name, const std::string& start) {
    return name.starts_with(start) && name.find('/') == std::string::npos;
}

Result<std::optional<Note>> read_note(const fs::path& capture, const std::string& session_id) {
    const fs::path path = capture / note_name;
    const auto content = read_file(path, note_limit_bytes);
    if (!content && content.error().kind == ErrorKind::NotFound) return std::optional<Note>();
    if (!content) return content.error();
    json::error_code code;
    const json::value value = json::parse(*content, code);
    const auto* object = code ? nullptr : value.if_object();
    const auto text = [&](const char* field) -> std::string {
        const auto* found = object == nullptr ? nullptr : object->if_contains(field);
        return found != nullptr && found->is_string() ? std::string(found->as_string())
                                                      : std::string();
    };
    Note note{text("name"), text("beside"), text("digest"), 0};
    if (!is_plain_name(note.name, session_id) || !is_plain_name(note.beside, "." + session_id))
        return make_error(ErrorKind::Invalid,
                          path.string() + ": tells of no bundle of this capture");
    if (const auto* size = object->if_contains("bytes"); size != nullptr && size->is_int64())
        note.size_bytes = static_cast<std::uint64_t>(size->get_int64());
    return std::optional(std::move(note));
}

Status write_note(const fs::path& capture, const Note& note) {
    const json::object object{{"name", note.name},
                              {"beside", note.beside},
                              {"digest", note.digest},
                              {"bytes", note.size_bytes}};
    return write_file_durably(capture / note_name, json::serialize(object) + "\n", 0640);
}

// Unfinished bundles of this capture. While the capture is locked, nobody else writes them.
void remove_unfinished(const fs::path& output, const std::string& session_id) {
    std::error_code error;
    fs::directory_iterator files(output, error);
    for (; !error && files != fs::directory_iterator(); files.increment(error))
        if (files->path().filename().string().starts_with("." + session_id + "."))
            ::unlink(files->path().c_str());
}

// Gives the bundle in a note its name, unless it already has it.
Status put_in_place(const Note& note, const fs::path& output) {
    const fs::path beside = output / note.beside;
    struct stat facts {};
    if (::lstat(beside.c_str(), &facts) == 0) return rename_durably(beside, output / note.name);
    return errno == ENOENT ? success() : Status(system_error(beside.string()));
}

Result<CaptureBundle> make_bundle(const fs::path& capture, const fs::path& output,
                                  const MergeOptions& options) {
    CaptureBundle made;
    KILL_POINT("merge.begin");
    TRY_ASSIGN(made.merged, merge_capture(capture, options));
    FAULT_POINT("merge.merged");
    TRY_ASSIGN(const PackedBundle packed, pack_bundle(capture, made.merged.session_id, output));
    made.bundle = packed.info;
    const Note note{packed.info.path.filename().string(), packed.beside.filename().string(),
                    packed.info.digest, packed.info.size_bytes};
    const auto noted = [&]() -> Status {
        FAULT_POINT("bundle.packed");
        // If a power failure undid the bundle's name but kept the note, the capture would be lost.
        TRY(sync_directory(output));
        return write_note(capture, note);
    }();
    if (!noted) {
        // The note may exist despite the error, but must not exist without the bundle.
        remove_file(capture / note_name);
        remove_file(packed.beside);
        return noted.error();
    }
    FAULT_POINT("bundle.noted");
    TRY(rename_durably(packed.beside, packed.info.path));
    return made;
}

}  // namespace

Result<CaptureClaim> claim_capture(const fs::path& capture_directory,
                                   const fs::path& output_directory) {
    CaptureClaim claim;
    TRY_ASSIGN(claim.lock, lock_capture(capture_directory));
    TRY_ASSIGN(const Session session, read_session(capture_directory));
    TRY_ASSIGN(const auto note, read_note(capture_directory, session.id));
    if (!note) {
        remove_unfinished(output_directory, session.id);
        return claim;
    }
    TRY(put_in_place(*note, output_directory));
    claim.made =
        CaptureBundle{{output_directory / note->name, note->digest, note->size_bytes}, true, {}};
    return claim;
}

Result<CaptureBundle> bundle_capture(const fs::path& capture_directory,
                                     const fs::path& output_directory,
                                     const MergeOptions& options) {
    auto made = make_bundle(capture_directory, output_directory, options);
    // The trace can be made again, so it should not use space until then.
    if (!made) remove_file(capture_directory / "trace.pftrace");
    return made;
}

}  // namespace lagtrap::trace
