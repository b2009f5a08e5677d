#include "storage/internal/rocksdb_env.h"

#include <algorithm>
#include <cstdint>
#include <memory>

#include "rocksdb/system_clock.h"

namespace freshet::storage {
namespace {

int64_t NotBefore1970(int64_t time) { return std::max<int64_t>(time, 0); }

class ClockSince1970 final : public rocksdb::SystemClockWrapper {
 public:
  using SystemClockWrapper::SystemClockWrapper;
  [[nodiscard]] const char* Name() const override { return "FreshetClockSince1970"; }
  uint64_t NowMicros() override {
    return static_cast<uint64_t>(NotBefore1970(static_cast<int64_t>(target_->NowMicros())));
  }
  rocksdb::Status GetCurrentTime(int64_t* seconds) override {
    const rocksdb::Status status = target_->GetCurrentTime(seconds);
    if (status.ok()) *seconds = NotBefore1970(*seconds);
    return status;
  }
};

class EnvSince1970 final : public rocksdb::EnvWrapper {
 public:
  EnvSince1970() : EnvWrapper(rocksdb::Env::Default()) {
    system_clock_ = std::make_shared<ClockSince1970>(rocksdb::SystemClock::Default());
  }
  [[nodiscard]] const char* Name() const override { return "FreshetEnvSince1970"; }
  uint64_t NowMicros() override { return system_clock_->NowMicros(); }
  rocksdb::Status GetCurrentTime(int64_t* seconds) override {
    return system_clock_->GetCurrentTime(seconds);
  }
};

}  // namespace

rocksdb::Env* RocksDbEnv(const StoreOptions& options) {
  static EnvSince1970 env;
  return options.env != nullptr ? options.env : &env;
}

}  // namespace freshet::storage
