#include "storage/kafka/tenure.h"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstring>
#include <optional>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include "core/base/check.h"
#include "fmt/format.h"
#include "storage/kafka/client.h"
#include "storage/kafka/topics.h"
#include "sync/mutex.h"

namespace freshet {
namespace {

using kafka::Client;
using kafka::Context;
using kafka::Destroyer;
using kafka::Error;
using kafka::Partitions;
using Queue = std::unique_ptr<rd_kafka_queue_t, Destroyer<rd_kafka_queue_destroy>>;
using Steady = std::chrono::steady_clock;

constexpr int kPollMs = 50;
// The maximum time for which a leaving server waits for the group's first answer
// (AwaitFirstAnswer). Service managers give a server at least thirty seconds to end.
constexpr std::chrono::milliseconds kMostAnswerWait = std::chrono::seconds(15);
// The interval of heartbeats, which is how soon a member learns of a rebalance. A rebalance waits
// until the last member has learned of it. The group counts the silence of a lost server from its
// last heartbeat, which can be this long before the loss.
constexpr const char* kHeartbeatMs = "200";
// The interval between two requests that confirm this server's turn (storage/kafka/tenure.h).
constexpr std::chrono::milliseconds kAskEvery{500};
// After a confirmation, this server is sure of its turn for kSureOf/kSureIn of
// TenureOptions::silence. The rest allows for clocks that run at different speeds, and for URLs
// that are on their way to a worker.
constexpr int kSureOf = 3;
constexpr int kSureIn = 4;
// The leader counts as silent after kSilentOf/kSilentIn of TenureOptions::silence. By then, several
// confirmations are missing, but a standby still has time to prepare.
constexpr int kSilentOf = 3;
constexpr int kSilentIn = 10;
constexpr std::chrono::milliseconds kLeastSilent = 3 * kAskEvery;
constexpr std::chrono::seconds kTellEvery{10};
constexpr std::chrono::minutes kCompareEvery{10};

Partitions TheTurn(const std::string& topic) {
  Partitions turn(rd_kafka_topic_partition_list_new(1));
  rd_kafka_topic_partition_list_add(turn.get(), topic.c_str(), 0)->offset = 0;
  return turn;
}

// The last message of the leader to the group.
struct Word {
  uint64_t beat = 0;        // changes with each message; 0 = none
  uint64_t silence_ms = 0;  // the leader's setting for `silence`; 0 = unknown
  std::string announced;
};

std::string TextOf(const Word& word) {
  return fmt::format("{} {}\n{}", word.beat, word.silence_ms, word.announced);
}

// Returns an empty Word if there is no message, or one of another release.
Word WordOf(std::string_view text) {
  Word word;
  const size_t end = text.find('\n');
  if (end == std::string_view::npos) return word;
  const char* const line = text.data() + end;
  auto read = std::from_chars(text.data(), line, word.beat);
  if (read.ec == std::errc() && read.ptr != line && *read.ptr == ' ') {
    read = std::from_chars(read.ptr + 1, line, word.silence_ms);
  }
  if (read.ec != std::errc() || read.ptr != line) return {};
  word.announced = text.substr(end + 1);
  return word;
}

StatusOr<Word> Hear(const Client& client, const std::string& topic,
                    std::chrono::milliseconds patience) {
  const Partitions offsets = TheTurn(topic);
  const rd_kafka_resp_err_t error =
      rd_kafka_committed(client.get(), offsets.get(), static_cast<int>(patience.count()));
  const rd_kafka_topic_partition_t& turn = offsets->elems[0];
  const rd_kafka_resp_err_t fault = error != RD_KAFKA_RESP_ERR_NO_ERROR ? error : turn.err;
  if (fault != RD_KAFKA_RESP_ERR_NO_ERROR) {
    return MakeStatus(absl::StatusCode::kUnavailable, "cluster: {}", rd_kafka_err2str(fault));
  }
  if (turn.metadata == nullptr) return Word();
  return WordOf({static_cast<const char*>(turn.metadata), turn.metadata_size});
}

}  // namespace

class KafkaTenure::Impl {
 public:
  Impl(const TenureOptions& options, std::function<void()> on_lost)
      : options_(options),
        context_{.options = &options_.kafka},
        topic_(kafka::FleetTopicOf(options_.kafka)),
        on_lost_(std::move(on_lost)) {}
  ~Impl() { CHECK(!thread_.joinable(), "a tenure has not ended"); }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  [[nodiscard]] Status Open();
  [[nodiscard]] Status Stand();
  // Ends the candidacy. Returns false if the group has admitted this member but not assigned
  // anything to it yet. In that state, the member cannot leave the group.
  [[nodiscard]] bool End();
  // Precondition: End, and LeaveGroup if End returned true. Returns false if destroying this object
  // might wait for the group forever, or make librdkafka 2.0.2 abort the process (its issue 4312).
  // This can happen if the group has admitted this member without an assignment, even after End has
  // checked.
  [[nodiscard]] bool MayBeDestroyed() const FRESHET_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    return closed_ && (!stood_ || answered_);
  }
  // Leaves the group, so that standbys need not wait until `silence` has passed. Takes no longer
  // than `silence`, even if the group does not answer, because the group has removed this member by
  // then anyway. Precondition: End.
  void LeaveGroup();
  [[nodiscard]] bool assigned() const { return assigned_; }
  [[nodiscard]] bool sure() const {
    return assigned_ && SinceConfirmed() < options_.silence * kSureOf / kSureIn;
  }
  [[nodiscard]] std::optional<uint64_t> turn() const {
    const uint64_t turn = turns_;
    return sure() && turn == turns_ ? std::optional(turn) : std::nullopt;
  }
  void Announce(std::string text) FRESHET_EXCLUDES(mutex_) {
    CHECK(text.size() <= kMaxAnnouncedBytes, "{} bytes to announce", text.size());
    const MutexLock lock(mutex_);
    announced_ = std::move(text);
  }

 private:
  // Called on the polling thread, or in the destructor.
  static void OnRebalance(rd_kafka_t* client, rd_kafka_resp_err_t error,
                          rd_kafka_topic_partition_list_t* partitions, void* opaque);
  static void OnConfirmed(rd_kafka_t* client, rd_kafka_resp_err_t error,
                          rd_kafka_topic_partition_list_t* partitions, void* opaque);
  [[nodiscard]] static Impl& Of(void* opaque) {
    return *static_cast<Impl*>(static_cast<Context*>(opaque)->owner);
  }

  [[nodiscard]] Steady::duration SinceConfirmed() const {
    return Steady::now().time_since_epoch() - Steady::duration(confirmed_.load());
  }
  void Run();
  void TakeAnswer() FRESHET_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    answered_ = true;
    answer_.NotifyAll();
  }
  // Waits for the group's first answer. Returns true if the answer came, or if no answer will come.
  // The group waits for its members for the duration of `silence`, possibly again after each new
  // member.
  [[nodiscard]] bool AwaitFirstAnswer() FRESHET_EXCLUDES(mutex_);
  // Asks the group to confirm the turn: stores an offset, which the group accepts only from a
  // member. The beat and the announced text are stored with the offset.
  void Ask() FRESHET_EXCLUDES(mutex_);
  // Returns false while the group rebalances, unless that takes long. A request during a rebalance
  // would belong to the previous generation of the group, and librdkafka 2.0.2 would interpret the
  // answer as the loss of all partitions.
  [[nodiscard]] bool MayAsk() const;
  // Logs from time to time why this server cannot join the group.
  void Tell(rd_kafka_resp_err_t trouble);
  void Assigned(bool to_me);

  const TenureOptions options_;
  Context context_;
  const std::string topic_;
  const std::function<void()> on_lost_;
  std::atomic<bool> leaving_ = false;  // from now on, a lost turn is not reported
  std::atomic<bool> stopping_ = false;
  std::atomic<bool> assigned_ = false;
  std::atomic<uint64_t> turns_ = 0;
  mutable Mutex mutex_;
  Condition answer_;
  // The group has told this server its assignment at least once.
  bool answered_ FRESHET_GUARDED_BY(mutex_) = false;
  std::string announced_ FRESHET_GUARDED_BY(mutex_);
  std::atomic<int64_t> confirmed_ = 0;  // when the last request that the group confirmed was sent
  // Used only by the thread that ends the tenure.
  bool may_close_ = true;
  bool stood_ = false;
  bool left_ = false;
  bool closed_ = true;  // librdkafka is not waiting for an answer of the group
  // Used only by thread_.
  bool served_ = false;
  bool lost_ = false;
  bool asking_ = false;
  uint64_t beat_ = 0;
  Steady::time_point asked_;
  Steady::time_point tell_;
  Client client_;  // uses context_
  std::thread thread_;
};

Status KafkaTenure::Impl::Open() {
  RETURN_IF_ERROR(kafka::EnsureFleetTopic(options_.kafka));
  context_.owner = this;
  context_.rebalance = OnRebalance;
  context_.committed = OnConfirmed;
  const auto silence = std::to_string(options_.silence.count());
  ASSIGN_OR_RETURN(client_,
                   kafka::MakeClient(RD_KAFKA_CONSUMER,
                                     {{"group.id", topic_},
                                      {"client.id", options_.node},
                                      {"session.timeout.ms", silence},
                                      {"heartbeat.interval.ms", kHeartbeatMs},
                                      // How long the group waits for a missing member when it
                                      // reassigns the turn, and how long a member waits for the
                                      // group.
                                      {"max.poll.interval.ms", silence},
                                      // The leader keeps the turn when other servers join.
                                      {"partition.assignment.strategy", "cooperative-sticky"},
                                      {"enable.auto.commit", "false"},
                                      {"auto.offset.reset", "latest"},
                                      {"allow.auto.create.topics", "false"}},
                                     context_));
  rd_kafka_poll_set_consumer(client_.get());
  thread_ = std::thread([this] { Run(); });
  return absl::OkStatus();
}

Status KafkaTenure::Impl::Stand() {
  stood_ = true;
  const Partitions topics(rd_kafka_topic_partition_list_new(1));
  rd_kafka_topic_partition_list_add(topics.get(), topic_.c_str(), RD_KAFKA_PARTITION_UA);
  if (const rd_kafka_resp_err_t error = rd_kafka_subscribe(client_.get(), topics.get());
      error != RD_KAFKA_RESP_ERR_NO_ERROR) {
    return MakeStatus(absl::StatusCode::kUnavailable, "cluster: {}", rd_kafka_err2str(error));
  }
  return absl::OkStatus();
}

bool KafkaTenure::Impl::End() {
  leaving_ = true;
  if (!thread_.joinable()) return may_close_;
  may_close_ = AwaitFirstAnswer();
  stopping_ = true;
  thread_.join();
  return may_close_;
}

bool KafkaTenure::Impl::AwaitFirstAnswer() {
  const auto until = Steady::now() + std::min(2 * options_.silence, kMostAnswerWait);
  const MutexLock lock(mutex_);
  while (!answered_) {
    char* const member = rd_kafka_memberid(client_.get());
    const bool taken_in = member != nullptr && *member != '\0';
    if (member != nullptr) rd_kafka_mem_free(client_.get(), member);
    if (!taken_in) return true;
    if (Steady::now() >= until) return false;
    answer_.WaitFor(mutex_, std::chrono::milliseconds(kPollMs));
  }
  return true;
}

void KafkaTenure::Impl::LeaveGroup() {
  if (std::exchange(left_, true)) return;
  // In librdkafka 2.0.2, closing the consumer does not leave the group if nothing is assigned.
  if (!assigned_) rd_kafka_unsubscribe(client_.get());
  const Queue queue(rd_kafka_queue_new(client_.get()));
  const Error refused(rd_kafka_consumer_close_queue(client_.get(), queue.get()));
  if (refused != nullptr) return;
  const auto until = Steady::now() + options_.silence;
  do {
    rd_kafka_queue_poll_callback(queue.get(), kPollMs);
    closed_ = rd_kafka_consumer_closed(client_.get()) != 0;
  } while (!closed_ && Steady::now() < until);
}

void KafkaTenure::Impl::Run() {
  while (!stopping_) {
    const kafka::Message message(rd_kafka_consumer_poll(client_.get(), kPollMs));
    if (message != nullptr && message->err != RD_KAFKA_RESP_ERR_NO_ERROR) Tell(message->err);
    if (assigned_ && !asking_ && Steady::now() - asked_ >= kAskEvery && MayAsk()) Ask();
  }
}

void KafkaTenure::Impl::Tell(rd_kafka_resp_err_t trouble) {
  const Steady::time_point now = Steady::now();
  if (!options_.kafka.log || now < tell_) return;
  options_.kafka.log('W', fmt::format("joining the group {} that chooses the active server: {}",
                                      topic_, rd_kafka_err2str(trouble)));
  tell_ = now + kTellEvery;
}

bool KafkaTenure::Impl::MayAsk() const {
  if (!context_.joining) return true;
  return SinceConfirmed() >= options_.silence * kSureOf / kSureIn / 2;
}

void KafkaTenure::Impl::Ask() {
  const Partitions offsets = TheTurn(topic_);
  Word word{.beat = ++beat_, .silence_ms = static_cast<uint64_t>(options_.silence.count())};
  {
    const MutexLock lock(mutex_);
    word.announced = announced_;
  }
  const std::string text = TextOf(word);
  // The list frees the text with free(), as C code does.
  offsets->elems[0].metadata = strndup(text.data(), text.size());
  offsets->elems[0].metadata_size = text.size();
  asked_ = Steady::now();
  asking_ =
      rd_kafka_commit(client_.get(), offsets.get(), /*async=*/1) == RD_KAFKA_RESP_ERR_NO_ERROR;
}

void KafkaTenure::Impl::OnConfirmed(rd_kafka_t* /*client*/, rd_kafka_resp_err_t error,
                                    rd_kafka_topic_partition_list_t* /*partitions*/, void* opaque) {
  Impl& self = Of(opaque);
  self.asking_ = false;
  if (error == RD_KAFKA_RESP_ERR_NO_ERROR) {
    self.confirmed_ = self.asked_.time_since_epoch().count();
  }
}

void KafkaTenure::Impl::OnRebalance(rd_kafka_t* client, rd_kafka_resp_err_t error,
                                    rd_kafka_topic_partition_list_t* partitions, void* opaque) {
  Impl& self = Of(opaque);
  self.TakeAnswer();
  if (error == RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS) {
    const Error assigned(rd_kafka_incremental_assign(client, partitions));
    // The topic has no rows to read.
    rd_kafka_pause_partitions(client, partitions);
    if (partitions->cnt > 0) return self.Assigned(true);
    if (!self.assigned_) self.Assigned(false);
    return;
  }
  const Error unassigned(rd_kafka_incremental_unassign(client, partitions));
  if (partitions->cnt > 0) self.assigned_ = false;
}

void KafkaTenure::Impl::Assigned(bool to_me) {
  if (to_me) {
    served_ = true;
    asked_ = Steady::time_point();  // so that a request is sent at once
    confirmed_ = 0;                 // confirmations of an earlier turn do not count
    ++turns_;
    assigned_ = true;
  } else if (served_ && !lost_ && !leaving_) {
    lost_ = true;
    if (on_lost_) on_lost_();
  }
}

StatusOr<std::unique_ptr<KafkaTenure>> KafkaTenure::Open(const TenureOptions& options,
                                                         std::function<void()> on_lost) {
  auto impl = std::make_unique<Impl>(options, std::move(on_lost));
  RETURN_IF_ERROR(impl->Open());
  return std::unique_ptr<KafkaTenure>(new KafkaTenure(std::move(impl)));
}
Status KafkaTenure::Stand() { return impl_->Stand(); }
StatusOr<std::unique_ptr<KafkaTenure>> KafkaTenure::Join(const TenureOptions& options,
                                                         std::function<void()> on_lost) {
  ASSIGN_OR_RETURN(std::unique_ptr<KafkaTenure> tenure, Open(options, std::move(on_lost)));
  RETURN_IF_ERROR(tenure->Stand());
  return tenure;
}

KafkaTenure::KafkaTenure(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
KafkaTenure::~KafkaTenure() {
  // A client that must not be destroyed is leaked, together with threads of librdkafka. The group
  // removes it after `silence`, because it sends no more messages.
  Leave();
  if (!impl_->MayBeDestroyed()) (void)impl_.release();
}

void KafkaTenure::Leave() {
  // If the member cannot leave, the group removes it after `silence`.
  if (impl_->End()) impl_->LeaveGroup();
}

bool KafkaTenure::assigned() const { return impl_->assigned(); }
bool KafkaTenure::sure() const { return impl_->sure(); }
std::optional<uint64_t> KafkaTenure::turn() const { return impl_->turn(); }
void KafkaTenure::Announce(std::string text) { impl_->Announce(std::move(text)); }

class KafkaListener::Impl {
 public:
  Impl(const KafkaOptions& options, std::chrono::milliseconds silence)
      : options_(options), silence_(silence), topic_(kafka::FleetTopicOf(options)) {}
  [[nodiscard]] Status Open() {
    context_.options = &options_;
    ASSIGN_OR_RETURN(client_, kafka::MakeClient(RD_KAFKA_CONSUMER,
                                                {{"group.id", topic_},  // the group is not joined
                                                 {"enable.auto.commit", "false"},
                                                 {"allow.auto.create.topics", "false"}},
                                                context_));
    return absl::OkStatus();
  }
  [[nodiscard]] StatusOr<std::string> Announced(std::chrono::milliseconds patience)
      FRESHET_EXCLUDES(mutex_) {
    ASSIGN_OR_RETURN(Word word, Hear(client_, topic_, patience));
    const MutexLock lock(mutex_);
    Compare(word);
    return std::move(word.announced);
  }
  [[nodiscard]] bool IsSilent(std::chrono::milliseconds silence, std::chrono::milliseconds patience)
      FRESHET_EXCLUDES(mutex_);

 private:
  // Warns if the leader and this server have different settings for `silence`, because the server
  // with the shorter setting would take the turn too early.
  void Compare(const Word& word) FRESHET_REQUIRES(mutex_);

  const KafkaOptions options_;
  const std::chrono::milliseconds silence_;
  const std::string topic_;
  Context context_;
  Client client_;  // uses context_
  Mutex mutex_;
  // The leader's last beat, and the time since which the beat has not changed.
  uint64_t beat_ FRESHET_GUARDED_BY(mutex_) = 0;
  Steady::time_point since_ FRESHET_GUARDED_BY(mutex_);
  bool silent_ FRESHET_GUARDED_BY(mutex_) = false;
  Steady::time_point compare_ FRESHET_GUARDED_BY(mutex_);
};

void KafkaListener::Impl::Compare(const Word& word) {
  const auto own = static_cast<uint64_t>(silence_.count());
  if (own == 0 || word.silence_ms == 0 || word.silence_ms == own || !options_.log) return;
  const Steady::time_point now = Steady::now();
  if (now < compare_) return;
  compare_ = now + kCompareEvery;
  options_.log('W', fmt::format("cluster.silence is {} ms here, and {} ms on the server that has "
                                "the turn of {}: set the same on all servers",
                                own, word.silence_ms, topic_));
}

bool KafkaListener::Impl::IsSilent(std::chrono::milliseconds silence,
                                   std::chrono::milliseconds patience) {
  const StatusOr<Word> word = Hear(client_, topic_, patience);
  const Steady::time_point now = Steady::now();
  const MutexLock lock(mutex_);
  if (!word.ok()) {
    // Only answers of brokers can show that the leader is silent.
    if (!silent_) since_ = now;
  } else if (Compare(*word); word->beat == 0 || word->beat != beat_) {
    beat_ = word->beat;
    since_ = now;
    silent_ = false;
  } else {
    const auto part = silence * kSilentOf / kSilentIn;
    silent_ = now - since_ >= std::max<std::chrono::milliseconds>(part, kLeastSilent);
  }
  return silent_;
}

StatusOr<std::unique_ptr<KafkaListener>> KafkaListener::Open(const KafkaOptions& options,
                                                             std::chrono::milliseconds silence) {
  auto impl = std::make_unique<Impl>(options, silence);
  RETURN_IF_ERROR(impl->Open());
  return std::unique_ptr<KafkaListener>(new KafkaListener(std::move(impl)));
}

KafkaListener::KafkaListener(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
KafkaListener::~KafkaListener() = default;

StatusOr<std::string> KafkaListener::Announced(std::chrono::milliseconds patience) const {
  return impl_->Announced(patience);
}

bool KafkaListener::IsSilent(std::chrono::milliseconds silence,
                             std::chrono::milliseconds patience) {
  return impl_->IsSilent(silence, patience);
}

}  // namespace freshet
