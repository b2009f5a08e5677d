// A poller of a small site, for tests of the poller. It records what it would send.
#ifndef FRESHET_TESTS_SITEMAP_POLLER_FIXTURE_H_
#define FRESHET_TESTS_SITEMAP_POLLER_FIXTURE_H_

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/sitemap/public_here.h"
#include "tests/support/small_site.h"
#include "tests/support/temp_dir.h"
#include "tools/sitemap/poller.h"

namespace freshet::sitemap {

// Records pages and signals. Thread-compatible.
class Notes : public Sender {
 public:
  bool SendPage(uint64_t, const FeedEntry& entry) override {
    sent.push_back("page " + entry.url);
    return true;
  }
  bool SendSignal(uint64_t, const FeedEntry& entry, Instant changed) override {
    sent.push_back("signal " + entry.url + " " +
                   std::to_string(entry.modified->told.micros() / 1'000'000));
    changes.push_back(changed);
    return true;
  }
  [[nodiscard]] absl::StatusOr<Receipt> Settle() override {
    if (settle) settle();
    if (!status.ok()) return status;
    return std::exchange(receipt, {});
  }
  std::vector<std::string> Take() { return std::exchange(sent, {}); }

  std::vector<std::string> sent;
  std::vector<Instant> changes;
  std::function<void()> settle;
  absl::Status status;
  Receipt receipt;
};

// Forwards everything to another sender, which must outlive it. Thread-compatible.
class Forward : public Sender {
 public:
  explicit Forward(Sender& to) : to_(to) {}
  bool SendPage(uint64_t row, const FeedEntry& entry) override { return to_.SendPage(row, entry); }
  bool SendSignal(uint64_t row, const FeedEntry& entry, Instant changed) override {
    return to_.SendSignal(row, entry, changed);
  }
  [[nodiscard]] absl::StatusOr<Receipt> Settle() override { return to_.Settle(); }

 private:
  Sender& to_;
};

// The site of a SmallSite that was made without an address.
inline constexpr const char* kHere = "127.0.0.1";

class PollerTest : public testing::Test {
 protected:
  PollerTest() {
    options_.fetch.user_agent = "freshet/test";
    options_.fetch.is_public = IsPublicHere;
    Reopen();
  }
  void Reopen() {
    state_.reset();
    state_ = *PollState::Open(dir_ / "state", "");
  }
  // Returns the stored state of a document of the site.
  DocumentState Known(const std::string& url, const std::string& site = kHere) {
    return *state_->FindDocument({site, url});
  }
  // Polls once and returns the reports.
  std::vector<DocumentReport> Poll(const std::string& argument) {
    std::vector<DocumentReport> reports;
    Poller poller(
        options_, *state_, make_sender_, turn_,
        [this] {
          if (on_clock_) on_clock_();
          return now_ = now_ + step_;
        },
        [&reports](const DocumentReport& report) { reports.push_back(report); });
    status_ = poller.Poll(argument, 0);
    return reports;
  }
  // Polls one document, which must fail, and returns the reason.
  std::string Why(const std::string& argument) {
    const std::vector<DocumentReport> reports = Poll(argument);
    EXPECT_EQ(reports.size(), 1U);
    EXPECT_EQ(reports.at(0).result, DocumentReport::Result::kFailed);
    EXPECT_THAT(notes_.Take(), testing::IsEmpty());
    EXPECT_TRUE(status_.ok()) << status_;
    return reports.at(0).why;
  }
  // Returns a sitemap of these pages with their dates. An empty date is omitted.
  std::string Map(const std::vector<std::pair<std::string, std::string>>& pages) const {
    std::string text = "<urlset>";
    for (const auto& [path, date] : pages) {
      text += "<url><loc>" + site_.url() + path + "</loc>";
      if (!date.empty()) text += "<lastmod>" + date + "</lastmod>";
      text += "</url>";
    }
    return text + "</urlset>";
  }
  std::string Page(const std::string& path) const { return "page " + site_.url() + path; }
  std::string Signal(const std::string& path, const std::string& seconds) const {
    return "signal " + site_.url() + path + " " + seconds;
  }

  SmallSite site_;
  const TempDir dir_;
  PollerOptions options_;
  std::unique_ptr<PollState> state_;
  Notes notes_;
  std::vector<uint64_t> signals_;  // number of signals announced for each document that is sent
  const MakeSender make_sender_ = [this](uint64_t signals) {
    signals_.push_back(signals);
    return std::make_unique<Forward>(notes_);
  };
  Turn turn_;
  Instant now_ = Instant::FromUnixSeconds(1'718'000'000);  // 2024-06-10
  Duration step_;                                          // time between two reads of the clock
  std::function<void()> on_clock_;
  absl::Status status_;
};

}  // namespace freshet::sitemap

#endif  // FRESHET_TESTS_SITEMAP_POLLER_FIXTURE_H_
