#include "server/api/message_trace.h"

#include <cstdio>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "server/logs/loggers.h"

namespace freshet {
namespace {

// A clock that the test sets. Thread-compatible.
class HandClock final : public Clock {
 public:
  Instant Now() override { return now_; }
  void Pass(int64_t micros) { now_ = now_ + Duration::Micros(micros); }

 private:
  Instant now_ = Instant::FromMicros(1'000'000'000);
};

int CountTraced(double share, int messages) {
  const Live<double> live(share);
  HandClock clock;
  Tracer tracer(live, clock);
  int traced = 0;
  for (int i = 0; i < messages; ++i) traced += tracer.Sample("/a/B", "id") != nullptr ? 1 : 0;
  return traced;
}

TEST(TracerTest, TracesTheShare) {
  EXPECT_EQ(CountTraced(0, 1000), 0);
  EXPECT_EQ(CountTraced(1, 1000), 1000);
  EXPECT_NEAR(CountTraced(0.1, 1000), 100, 1);
  EXPECT_NEAR(CountTraced(0.75, 1000), 750, 1);
  EXPECT_NEAR(CountTraced(0.001, 10'000), 10, 1);
}

TEST(TracerTest, FollowsTheShare) {
  Live<double> share(0);
  HandClock clock;
  Tracer tracer(share, clock);
  EXPECT_EQ(tracer.Sample("/a/B", "id"), nullptr);
  share = 1;
  EXPECT_NE(tracer.Sample("/a/B", "id"), nullptr);
}

// The parts follow each other without a gap. If several shards take part, the parts of the one that
// finished last count.
TEST(MessageTraceTest, SaysHowLongEachPartTook) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::tmpfile(), &std::fclose);
  SetLogFile(file.get());
  SetLogFormat(LogFormat::kJson);
  ASSERT_TRUE(SetLogLevels("info").ok());
  HandClock clock;
  MessageTrace trace(clock, "/a/B", "client-7");
  clock.Pass(10);
  trace.Send();
  const auto pass = [&](int64_t micros) {
    clock.Pass(micros);
    return clock.Now();
  };
  ShardSpan first = {.shard = 0, .events = 1, .turn_events = 1, .times = {}};
  first.times.installed = clock.Now();
  ShardSpan last = {.shard = 3, .events = 4, .turn_events = 9, .times = {}};
  last.times = {pass(20), pass(30), pass(40), pass(50), pass(60)};
  trace.Add(last);
  trace.Add(first);
  clock.Pass(70);
  trace.Finish(12, {.refused = 1, .unrefused = 5});
  SetLogFile(stderr);
  SetLogFormat(LogFormat::kText);
  std::rewind(file.get());
  std::string line(4096, '\0');
  line.resize(std::fread(line.data(), 1, line.size(), file.get()));
  const auto said = nlohmann::json::parse(line);
  const auto expect = [&](const char* field, const std::string& value) {
    ASSERT_TRUE(said.contains(field)) << field << " in " << line;
    EXPECT_EQ(said[field], value) << field;
  };
  expect("request_id", "client-7");
  expect("method", "/a/B");
  expect("sequence", "12");
  expect("items", "6");
  expect("refused", "1");
  expect("total_us", "280");
  expect("receive_us", "10");
  expect("queue_us", "20");
  expect("read_us", "30");
  expect("step_us", "40");
  expect("commit_us", "50");
  expect("install_us", "60");
  expect("answer_us", "70");
  expect("shards", "2");
  expect("last_shard", "3");
  expect("events", "4");
  expect("turn_events", "9");
}

}  // namespace
}  // namespace freshet
