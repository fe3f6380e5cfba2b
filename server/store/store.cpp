#include "server/store/store.hpp"

#include "server/store/batch_writer.hpp"
#include "server/store/sql_session.hpp"

namespace lagtrap::server {

Store::Store(std::unique_ptr<Database> database)
    : session_(std::make_unique<SqlSession>(std::move(database))),
      writer_(std::make_unique<BatchWriter>(session_->database(), session_->labels())) {}

Store::~Store() = default;

}  // namespace lagtrap::server
