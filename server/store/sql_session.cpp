#include "server/store/sql_session.hpp"

namespace lagtrap::server {

Status SqlSession::read_filtered(
    const Filter& filter, const Visibility& visibility,
    const std::function<Status(Connection&, const NumberedFilter&)>& task) {
    return read([&](Connection& connection) -> Status {
        TRY_ASSIGN(const auto numbered, number_filter(connection, labels_, filter, visibility));
        return numbered ? task(connection, *numbered) : success();
    });
}

Result<std::uint64_t> SqlSession::change(const std::string& sql, const Values& values) {
    std::uint64_t changed = 0;
    const Status written = write([&](Connection& connection) -> Status {
        TRY_ASSIGN(changed, connection.execute(sql, values));
        return success();
    });
    if (!written) return written.error();
    return changed;
}

Status SqlSession::change_only(const std::string& sql, const Values& values) {
    TRY(change(sql, values));
    return success();
}

}  // namespace lagtrap::server
