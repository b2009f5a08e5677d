#include "tools/sitemap/polls.h"

#include <fmt/format.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <thread>
#include <utility>

#include "core/base/status.h"
#include "tools/sitemap/site_url.h"
#include "tools/sitemap/turn.h"

namespace freshet::sitemap {
namespace {

// Arguments with the same key are polled one after the other. The key is a site or a file.
std::string SiteKey(const std::string& argument) {
  const absl::StatusOr<SiteUrl> site = ParseSiteUrl(argument);
  if (!site.ok() || argument.find("://") == std::string::npos) return argument;
  // Appends the port, unless it is the default of the scheme.
  const size_t host = site->origin.find("://") + 3;
  return SiteOfHost(site->host) + site->origin.substr(host + site->host.size());
}

// Wakes a thread that waits for a descriptor to become readable. Thread-safe.
class Bell {
 public:
  Bell() : descriptor_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}
  ~Bell() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  Bell(const Bell&) = delete;
  Bell& operator=(const Bell&) = delete;

  void Ring() const { (void)eventfd_write(descriptor_, 1); }
  void Clear() const {
    eventfd_t count = 0;
    (void)eventfd_read(descriptor_, &count);
  }
  [[nodiscard]] int descriptor() const { return descriptor_; }

 private:
  const int descriptor_;
};

// One site, and its running poll. Thread-compatible, except for the fields that the poll sets at
// its end.
struct Site {
  std::vector<std::string> arguments;
  Instant due;  // infinite = never again
  std::thread poll;
  std::atomic<bool> over = false;  // the poll has ended and set the fields below
  absl::Status status;
  Duration wait;  // infinite = for ever
};

// Owner thread only.
class Polls {
 public:
  Polls(const PollsOptions& options, int input, PollState& state, const MakeSender& make_sender,
        const std::function<Instant()>& clock,
        const std::function<void(const DocumentReport&)>& report)
      : options_(options),
        input_(input),
        state_(state),
        make_sender_(make_sender),
        clock_(clock),
        report_(report) {}
  ~Polls() {
    Stop();
    for (const auto& site : sites_) {
      if (site->poll.joinable()) site->poll.join();
    }
  }
  Polls(const Polls&) = delete;
  Polls& operator=(const Polls&) = delete;

  absl::Status Run(const std::vector<std::string>& arguments, const Waiting& wait) {
    if (bell_.descriptor() < 0) return absl::InternalError(std::strerror(errno));
    Divide(arguments);
    while (true) {
      bell_.Clear();
      Reap();
      if (!stop_) StartWhatIsDue();
      if (running_ == 0 && (stop_ || Next().infinite())) return status_;
      const bool full = running_ == options_.at_once;
      if (wait(stop_ || full || Next().infinite() ? Duration::Infinite() : Next() - clock_(),
               bell_.descriptor()) &&
          !stop_) {
        status_ = absl::CancelledError("stopped by a signal");
        Stop();
      }
    }
  }

 private:
  void Divide(const std::vector<std::string>& arguments) {
    std::map<std::string, Site*> by_key;
    for (const std::string& argument : arguments) {
      Site*& site = by_key[SiteKey(argument)];
      if (site == nullptr) {
        sites_.push_back(std::make_unique<Site>());
        site = sites_.back().get();
      }
      site->arguments.push_back(argument);
    }
  }

  void Stop() { stop_ = true; }

  // Returns the earliest due time of sites without a running poll.
  [[nodiscard]] Instant Next() const {
    Instant next = Instant::Infinite();
    for (const auto& site : sites_) {
      if (!site->poll.joinable()) next = std::min(next, site->due);
    }
    return next;
  }

  void Reap() {
    for (const auto& site : sites_) {
      if (!site->over) continue;
      site->poll.join();
      site->over = false;
      --running_;
      site->due = site->wait.infinite() ? Instant::Infinite() : clock_() + site->wait;
      if (!site->status.ok() && !stop_) {
        status_ = site->status;
        Stop();
      }
    }
  }

  // Starts due polls, the one that has waited longest first.
  void StartWhatIsDue() {
    // If the clock was set back, every site would wait longer by the difference, so every site is
    // due now at the latest.
    const Instant now = clock_();
    if (now < std::exchange(looked_, now)) {
      for (const auto& site : sites_) {
        if (!site->due.infinite()) site->due = std::min(site->due, now);
      }
    }
    while (running_ < options_.at_once) {
      const auto first =
          std::min_element(sites_.begin(), sites_.end(), [](const auto& a, const auto& b) {
            return std::pair(a->poll.joinable(), a->due) < std::pair(b->poll.joinable(), b->due);
          });
      if (first == sites_.end() || (*first)->poll.joinable() || (*first)->due.infinite() ||
          (options_.watch && (*first)->due > clock_())) {
        return;
      }
      Site& site = **first;
      ++running_;
      site.poll = std::thread([this, &site] {
        site.status = PollSite(site.arguments, &site.wait);
        site.over = true;
        bell_.Ring();
      });
    }
  }

  absl::Status PollSite(const std::vector<std::string>& arguments, Duration* wait) {
    PollerOptions options = options_.poller;
    options.fetch.cancelled = [this] { return stop_ || options_.poller.fetch.cancelled(); };
    Poller poller(options, state_, make_sender_, turn_, clock_, report_);
    *wait = Duration::Infinite();
    for (const std::string& argument : arguments) {
      if (!options_.watch) {
        RETURN_IF_ERROR(poller.Poll(argument, input_));
        continue;
      }
      ASSIGN_OR_RETURN(Instant due, poller.Due(argument));
      if (due <= clock_()) {
        const absl::Status status = poller.Poll(argument, input_);
        if (!absl::IsUnavailable(status)) RETURN_IF_ERROR(status);
        ASSIGN_OR_RETURN(due, poller.Due(argument));
        if (!status.ok()) due = clock_() + options_.retry;
      }
      *wait = std::min(*wait, due - clock_());
    }
    return absl::OkStatus();
  }

  const PollsOptions& options_;
  const int input_;
  PollState& state_;
  const MakeSender& make_sender_;
  const std::function<Instant()>& clock_;
  const std::function<void(const DocumentReport&)>& report_;
  const Bell bell_;
  Turn turn_;       // shared by the pollers
  Instant looked_;  // last time on the clock
  std::vector<std::unique_ptr<Site>> sites_;
  size_t running_ = 0;
  std::atomic<bool> stop_ = false;
  absl::Status status_;
};

}  // namespace

absl::Status RunPolls(const PollsOptions& options, const std::vector<std::string>& arguments,
                      int input, PollState& state, const MakeSender& make_sender,
                      const std::function<Instant()>& clock,
                      const std::function<void(const DocumentReport&)>& report,
                      const Waiting& wait) {
  return Polls(options, input, state, make_sender, clock, report).Run(arguments, wait);
}

}  // namespace freshet::sitemap
