#include <sqlite3.h>

#include <cstdlib>
#include <filesystem>

#include "server/store/sqlite_store.hpp"
#include "tests/unit/server_store/store_backend.hpp"

namespace lagtrap::server {
namespace {

namespace fs = std::filesystem;

class SqliteBackend : public StoreBackend {
  public:
    SqliteBackend() {
        std::string pattern = fs::temp_directory_path() / "lagtrap-store-XXXXXX";
        if (::mkdtemp(pattern.data()) != nullptr) directory_ = pattern;
    }
    ~SqliteBackend() override { fs::remove_all(directory_); }

    Result<std::unique_ptr<Store>> open() override {
        return open_store(directory_ / "lagtrap.sqlite");
    }
    Status script(const std::string& sql) override {
        sqlite3* database = nullptr;
        sqlite3_open((directory_ / "lagtrap.sqlite").c_str(), &database);
        sqlite3_busy_timeout(database, 60'000);  // while the store writes
        const int code = sqlite3_exec(database, sql.c_str(), nullptr, nullptr, nullptr);
        const std::string message = sqlite3_errmsg(database);
        sqlite3_close(database);
        return code == SQLITE_OK ? success() : make_error(ErrorKind::System, message);
    }
    bool takes_several_servers() const override { return false; }

  private:
    fs::path directory_;
};

}  // namespace

std::unique_ptr<StoreBackend> make_store_backend() { return std::make_unique<SqliteBackend>(); }

}  // namespace lagtrap::server
