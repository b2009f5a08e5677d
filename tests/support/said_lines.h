// Collects the messages of the default logger, so that tests can read them.
#ifndef FRESHET_TESTS_SUPPORT_SAID_LINES_H_
#define FRESHET_TESTS_SUPPORT_SAID_LINES_H_

#include <memory>
#include <sstream>
#include <string>

#include "spdlog/logger.h"
#include "spdlog/sinks/ostream_sink.h"
#include "spdlog/spdlog.h"

namespace freshet {

// Replaces the default logger while this object exists.
class SaidLines {
 public:
  SaidLines() {
    spdlog::set_default_logger(std::make_shared<spdlog::logger>(
        "test", std::make_shared<spdlog::sinks::ostream_sink_mt>(said_)));
  }
  ~SaidLines() { spdlog::set_default_logger(before_); }
  SaidLines(const SaidLines&) = delete;
  SaidLines& operator=(const SaidLines&) = delete;

  // The lines so far. Precondition: no other thread logs at the same time.
  [[nodiscard]] std::string text() const { return said_.str(); }

 private:
  const std::shared_ptr<spdlog::logger> before_ = spdlog::default_logger();
  std::ostringstream said_;
};

}  // namespace freshet

#endif  // FRESHET_TESTS_SUPPORT_SAID_LINES_H_
