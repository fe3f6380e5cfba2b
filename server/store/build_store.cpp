#include "server/store/build_store.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "server/store/choice_store.hpp"
#include "server/store/rollup.hpp"
#include "server/store/sql_session.hpp"

namespace lagtrap::server {
namespace {

constexpr std::size_t build_labels_limit = 10'000;

}  // namespace

Result<std::vector<std::string>> BuildStore::visible_builds() const {
    TRY_ASSIGN(Choices choices, ChoiceStore(*session_, visibility_).of_event({}));
    return std::move(choices.builds);
}

Status BuildStore::label_build(const BuildLabel& label) const {
    if (!visibility_.sees_everything()) {
        TRY_ASSIGN(const auto visible, visible_builds());
        if (std::find(visible.begin(), visible.end(), label.build) == visible.end())
            return make_error(ErrorKind::Denied, "no run that you may see has that build");
    }
    const std::string build = stored_text(label.build), name = stored_text(label.name),
                      by = stored_text(label.by);
    return session_->write([&](Connection& connection) -> Status {
        if (name.empty()) {
            TRY(connection.execute("DELETE FROM build_label WHERE build = $1", {build}));
            return success();
        }
        TRY(connection.execute(
            "INSERT INTO build_label(build, name, author, at_ns) VALUES($1, $2, $3, $4) ON "
            "CONFLICT(build) DO UPDATE SET name = excluded.name, author = excluded.author,"
            " at_ns = excluded.at_ns",
            {build, name, by, label.at_realtime_ns}));
        return success();
    });
}

// Names only known builds, so that the number of names is bounded by the number of builds.
Status BuildStore::name_builds(const std::vector<BuildLabel>& labels) const {
    if (!visibility_.sees_everything())
        return make_error(ErrorKind::Denied, "only the server names builds by their packages");
    if (labels.empty()) return success();
    return session_->write([&](Connection& connection) -> Status {
        for (const BuildLabel& label : labels)
            TRY(connection.execute(
                "INSERT INTO build_label(build, name, author, at_ns) SELECT text, $1, $2, $3 FROM "
                "label WHERE kind = $4 AND text = $5 ON CONFLICT(build) DO NOTHING",
                {stored_text(label.name), stored_text(label.by), label.at_realtime_ns,
                 LabelKind::Build, stored_text(label.build)}));
        return success();
    });
}

Result<std::vector<BuildLabel>> BuildStore::build_labels() const {
    std::vector<BuildLabel> labels;
    const Status looked = session_->read([&](Connection& connection) -> Status {
        labels.clear();
        TRY_ASSIGN(const auto rows,
                   connection.query("SELECT build, name, author, at_ns FROM build_label ORDER BY "
                                    "at_ns DESC, build LIMIT " +
                                    std::to_string(build_labels_limit)));
        for (;;) {
            TRY_ASSIGN(const bool more, rows->next());
            if (!more) return success();
            labels.push_back({rows->text(0), rows->text(1), rows->text(2), rows->natural(3)});
        }
    });
    if (!looked) return looked.error();
    if (visibility_.sees_everything()) return labels;
    TRY_ASSIGN(const auto visible, visible_builds());
    std::erase_if(labels, [&](const BuildLabel& label) {
        return !std::binary_search(visible.begin(), visible.end(), label.build);
    });
    return labels;
}

}  // namespace lagtrap::server
