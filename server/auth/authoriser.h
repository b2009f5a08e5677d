// Says who calls and whether they may: the one place where that is decided.
#ifndef FRESHET_SERVER_AUTH_AUTHORISER_H_
#define FRESHET_SERVER_AUTH_AUTHORISER_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/ip_address.h"
#include "core/base/shares.h"
#include "core/base/status.h"
#include "server/auth/identities.h"
#include "server/auth/methods.h"
#include "server/base/item_budget.h"
#include "server/base/named_budgets.h"
#include "server/base/system_clock.h"
#include "sync/mutex.h"

namespace freshet {

// What a client showed of itself. Value type, thread-compatible.
struct Credentials {
  std::optional<TokenDigest> token;  // of a bearer token
  bool malformed = false;            // an authorization that is no bearer token, or several
  bool certificate = false;          // one that was checked against the client CA
  std::vector<std::string> names;    // in its subject alternative names
  Instant certificate_ends = Instant::Infinite();  // it proves nothing from then on
  IpAddress network;  // that it comes from (server/base/client_network.h)

  // Takes in the value of an `authorization` header: "Bearer TOKEN", or "Basic" with the token as
  // the password, which is what browsers send.
  void AddAuthorization(std::string_view value);
};

// Who calls, as far as items are concerned. Value type, thread-compatible.
class Caller {
 public:
  // One that is limited in nothing.
  Caller() = default;
  explicit Caller(std::shared_ptr<const Identity> identity) : identity_(std::move(identity)) {}

  // nullptr: everybody may do everything.
  [[nodiscard]] const std::shared_ptr<const Identity>& identity() const { return identity_; }
  // May do everything: an admin, or anybody where there are no identities.
  [[nodiscard]] bool is_admin() const {
    return identity_ == nullptr || (identity_->roles & kAdmin) != 0;
  }
  [[nodiscard]] bool limited() const { return identity_ != nullptr && identity_->limits() != 0; }

  // PermissionDenied when the caller is limited to others. They say nothing of what exists.
  [[nodiscard]] Status CheckCrawlId(std::string_view canonical) const;
  [[nodiscard]] Status CheckHost(std::string_view canonical) const;
  [[nodiscard]] Status CheckSource(std::string_view name) const;
  // The number of the client (Authoriser::ClientOf), by which what it takes of tables is counted.
  void SetClient(uint64_t client) { client_ = client; }
  [[nodiscard]] Claim claim() const {
    if (identity_ == nullptr) return {.client = client_};
    return {.client = client_,
            .named = identity_->crawl_ids.has_value(),
            .admin = (identity_->roles & kAdmin) != 0};
  }
  // What it sends is paid for from here; null: it may send any number of items. Calls and streams
  // of one client have the same.
  void SetBudget(std::shared_ptr<ItemBudget> budget) { budget_ = std::move(budget); }
  // How long a stream should not be read after a message of so many items.
  [[nodiscard]] Duration Pay(uint64_t items, Instant now) const;
  // How long nothing more should come of what it has sent so far.
  [[nodiscard]] Duration Owes(Instant now) const;
  // How long a call comes too early, zero: it does not, and a call counts as an item.
  [[nodiscard]] Duration PayForCall(Instant now) const;
  // ResourceExhausted for one that does.
  [[nodiscard]] Status TooEarly(Duration wait) const;
  [[nodiscard]] Status CheckPage(std::string_view crawl_id, std::string_view host) const;
  // The name of its identity; null: it has none.
  [[nodiscard]] std::shared_ptr<const std::string> name() const {
    if (identity_ == nullptr) return nullptr;
    return {identity_, &identity_->name};
  }
  // The crawl ids that it is limited to; null: none.
  [[nodiscard]] std::shared_ptr<const std::vector<std::string>> crawl_ids() const {
    if (identity_ == nullptr || !identity_->crawl_ids) return nullptr;
    return {identity_, &*identity_->crawl_ids};
  }

 private:
  std::shared_ptr<const Identity> identity_;
  std::shared_ptr<ItemBudget> budget_;
  uint64_t client_ = 0;
};

// Value type, thread-compatible.
struct AuthStats {
  bool enabled = false;
  uint64_t identities = 0;
  uint64_t unauthenticated = 0;    // calls that were refused for want of a known identity
  uint64_t permission_denied = 0;  // or of a role or limit
};

// Thread-safe.
class Authoriser {
 public:
  // What is let in without an identity: names of MethodRule::open_as. With `certificates` whoever
  // has one that the client CA has signed may do everything, until there are identities. A client
  // may send so many items a second unless its identity says otherwise; 0: any number. `clock`,
  // which outlives this, says which certificates have ended; null: none have.
  Authoriser(std::vector<std::string> open, bool certificates, double items_per_second = 0,
             Clock* clock = nullptr);

  // Whether that is let in without an identity.
  [[nodiscard]] bool IsOpen(std::string_view what) const FRESHET_EXCLUDES(mutex_);
  // From the next call on.
  void SetOpen(std::vector<std::string> open) FRESHET_EXCLUDES(mutex_);
  void SetUsualItems(double items_per_second) { budgets_.SetUsual(items_per_second); }
  // From here on it is these that come in, and nobody else.
  void SetIdentities(Identities identities) FRESHET_EXCLUDES(mutex_);

  // Somebody was refused what changes the server (ChangesServer). Views are valid during the call.
  struct Refusal {
    std::string_view path;
    std::string who;                   // as ClientOf, as far as it is known
    std::optional<IpAddress> network;  // unset: not known
    Status why;
  };
  // `refused` is called for each, on the thread that asks; null: nobody is told.
  void SetListener(std::function<void(const Refusal&)> refused) FRESHET_EXCLUDES(mutex_);

  // Whether anybody is ever refused.
  [[nodiscard]] bool enabled() const { return certificates_ || generation_ != 0; }
  // Changes with the identities.
  [[nodiscard]] uint64_t generation() const { return generation_; }

  // Unauthenticated or PermissionDenied says what is missing.
  [[nodiscard]] StatusOr<Caller> Authorise(std::string_view path, const Credentials& credentials)
      FRESHET_EXCLUDES(mutex_);
  // The same, of a rule that exists; nothing is counted.
  [[nodiscard]] StatusOr<Caller> Check(const MethodRule& rule, const Credentials& credentials) const
      FRESHET_EXCLUDES(mutex_);

  // Whether it matters for Check or BudgetOf what a client shows of itself.
  [[nodiscard]] bool knows_clients() const { return enabled() || budgets_.usual() > 0; }
  // The one client that all calls are of which show the same: an identity, else a network.
  [[nodiscard]] static std::string ClientOf(const Caller& caller, const Credentials& credentials);
  // The same of whoever has shown these, whether or not they prove anything.
  [[nodiscard]] std::string ClientOf(const Credentials& credentials) const;
  // Whether these are of an identity with the role admin.
  [[nodiscard]] bool IsAdmin(const Credentials& credentials) const;
  // For Caller::SetBudget.
  [[nodiscard]] std::shared_ptr<ItemBudget> BudgetOf(const Caller& caller,
                                                     const Credentials& credentials, Instant now);

  [[nodiscard]] AuthStats stats() const FRESHET_EXCLUDES(mutex_);

 private:
  [[nodiscard]] StatusOr<std::shared_ptr<const Identity>> Find(const Credentials& credentials) const
      FRESHET_EXCLUDES(mutex_);
  [[nodiscard]] std::shared_ptr<const Identities> identities() const FRESHET_EXCLUDES(mutex_);
  void Tell(const MethodRule& rule, const Credentials& credentials, const Status& why) const
      FRESHET_EXCLUDES(mutex_);

  // Whether it has shown a certificate that has not ended.
  [[nodiscard]] Status CheckCertificate(const Credentials& credentials) const;

  const bool certificates_;
  Clock* const clock_;
  NamedBudgets budgets_;
  std::atomic<uint64_t> generation_{0};
  std::atomic<uint64_t> unauthenticated_{0};
  std::atomic<uint64_t> permission_denied_{0};
  mutable Mutex mutex_;
  std::shared_ptr<const std::function<void(const Refusal&)>> refused_ FRESHET_GUARDED_BY(mutex_);
  std::vector<std::string> open_ FRESHET_GUARDED_BY(mutex_);
  std::shared_ptr<const Identities> identities_ FRESHET_GUARDED_BY(mutex_);
};

}  // namespace freshet

#endif  // FRESHET_SERVER_AUTH_AUTHORISER_H_
