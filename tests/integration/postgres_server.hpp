// A PostgreSQL server for tests, in a temporary folder with a socket in it; ends with the object.
#pragma once

#include <libpq-fe.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>

#include "core/result.hpp"

namespace lagtrap::server {

class PostgresServer {
  public:
    // ErrorKind::NotFound if PostgreSQL is not installed.
    [[nodiscard]] static Result<std::unique_ptr<PostgresServer>> start(
        const std::string& settings = "") {
        const std::string bin = "/usr/lib/postgresql/15/bin";
        if (!std::filesystem::exists(bin + "/initdb"))
            return make_error(ErrorKind::NotFound, "PostgreSQL 15 is not installed");
        std::string pattern = std::filesystem::temp_directory_path() / "lagtrap-pg-XXXXXX";
        if (::mkdtemp(pattern.data()) == nullptr) return system_error(pattern);
        std::unique_ptr<PostgresServer> server(new PostgresServer(pattern, bin));
        // The server refuses to run as root.
        if (::geteuid() == 0) {
            const passwd* user = ::getpwnam("postgres");
            if (user == nullptr || ::chown(pattern.c_str(), user->pw_uid, user->pw_gid) != 0)
                return make_error(ErrorKind::NotFound, "there is no user postgres");
            server->as_ = "runuser -u postgres -- ";
        }
        const bool made =
            server->run("initdb --no-sync -A trust -U lagtrap -D " + pattern + "/data");
        server->options_ = "-k " + pattern +
                           " -c listen_addresses= -c max_connections=100 -c fsync=off " + settings;
        if (!made || !server->start_again())
            return make_error(ErrorKind::System, "PostgreSQL does not start");
        return server;
    }
    ~PostgresServer() {
        run("pg_ctl -D " + directory_ + "/data -m immediate -w stop");
        std::error_code ignored;
        std::filesystem::remove_all(directory_, ignored);
    }
    PostgresServer(const PostgresServer&) = delete;
    PostgresServer& operator=(const PostgresServer&) = delete;

    [[nodiscard]] Result<std::string> new_database() {
        const std::string name = "test" + std::to_string(++databases_);
        TRY(script(address("postgres"), "CREATE DATABASE " + name));
        return address(name);
    }
    [[nodiscard]] std::string address(const std::string& database) const {
        return "postgresql://lagtrap@/" + database + "?host=" + directory_;
    }
    // Like after a crash.
    [[nodiscard]] bool restart_at_once() {
        return run("pg_ctl -D " + directory_ + "/data -m immediate -w stop") && start_again();
    }
    [[nodiscard]] static Status script(const std::string& address, const std::string& sql) {
        PGconn* connection = PQconnectdb(address.c_str());
        PGresult* result = PQexec(connection, sql.c_str());
        const auto code = PQresultStatus(result);
        const bool done = code == PGRES_COMMAND_OK || code == PGRES_TUPLES_OK;
        const Status outcome =
            done ? success() : make_error(ErrorKind::System, PQerrorMessage(connection));
        PQclear(result);
        PQfinish(connection);
        return outcome;
    }

  private:
    PostgresServer(std::string directory, std::string bin)
        : directory_(std::move(directory)), bin_(std::move(bin)) {}
    bool start_again() {
        return run("pg_ctl -D " + directory_ + "/data -w -l " + directory_ + "/log -o '" +
                   options_ + "' start");
    }
    bool run(const std::string& command) const {
        return std::system(
                   ("cd / && " + as_ + bin_ + "/" + command + " >/dev/null 2>&1").c_str()) == 0;
    }

    std::string directory_, bin_, as_, options_;
    unsigned databases_ = 0;
};

}  // namespace lagtrap::server
