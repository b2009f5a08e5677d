// Identifies the client of a call, and decides whether it may make the call. No other code does
// this.
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

// The credentials that a client has shown. Value type, thread-compatible.
struct Credentials {
  std::optional<TokenDigest> token;  // the digest of a bearer token
  // Whether an authorization header holds no token, or the call has several of these headers.
  bool malformed = false;
  // Whether the client has shown a certificate that the client CA signed.
  bool certificate = false;
  std::vector<std::string> names;                  // subject alternative names of the certificate
  Instant certificate_ends = Instant::Infinite();  // when the certificate expires
  IpAddress network;  // the network of the client (server/base/client_network.h)

  // Reads one `authorization` header: "Bearer TOKEN", or "Basic" with the token as the password.
  // Browsers send the second form.
  void AddAuthorization(std::string_view value);
};

// The client of a call, with its limits and the budget for its items. Value type,
// thread-compatible.
class Caller {
 public:
  // A caller without limits.
  Caller() = default;
  explicit Caller(std::shared_ptr<const Identity> identity) : identity_(std::move(identity)) {}

  // The identity of the client; nullptr = the client has no identity, and no limits.
  [[nodiscard]] const std::shared_ptr<const Identity>& identity() const { return identity_; }
  // Whether the client may do everything: it is an admin, or has no identity.
  [[nodiscard]] bool is_admin() const {
    return identity_ == nullptr || (identity_->roles & kAdmin) != 0;
  }
  [[nodiscard]] bool limited() const { return identity_ != nullptr && identity_->limits() != 0; }

  // These check a value against the limits of the identity. PermissionDenied: the identity is
  // limited to other values. The error does not reveal what exists.
  [[nodiscard]] Status CheckCrawlId(std::string_view canonical) const;
  [[nodiscard]] Status CheckHost(std::string_view canonical) const;
  [[nodiscard]] Status CheckSource(std::string_view name) const;
  // Sets the client's number (ClientNumber in core/base/shares.h). Tables that clients share use
  // the number to count how much each client holds.
  void SetClient(uint64_t client) { client_ = client; }
  [[nodiscard]] Claim claim() const {
    if (identity_ == nullptr) return {.client = client_};
    return {.client = client_,
            .named = identity_->crawl_ids.has_value(),
            .admin = (identity_->roles & kAdmin) != 0};
  }
  // Sets the budget for items; nullptr = no limit. All calls and streams of a client share one
  // budget.
  void SetBudget(std::shared_ptr<ItemBudget> budget) { budget_ = std::move(budget); }
  // Charges the client for `items` items, even if its budget is used up. Returns for how long the
  // server should stop reading from the client's stream.
  [[nodiscard]] Duration Pay(uint64_t items, Instant now) const;
  // Returns for how long the server should stop reading from the client; 0 = no pause. Charges
  // nothing.
  [[nodiscard]] Duration Owes(Instant now) const;
  // Charges the client one item for a call, and returns 0. If the budget is used up, charges
  // nothing and returns how long the client must wait.
  [[nodiscard]] Duration PayForCall(Instant now) const;
  // The ResourceExhausted error for a call that must wait for `wait`.
  [[nodiscard]] Status TooEarly(Duration wait) const;
  [[nodiscard]] Status CheckPage(std::string_view crawl_id, std::string_view host) const;
  // The name of the identity; nullptr = none.
  [[nodiscard]] std::shared_ptr<const std::string> name() const {
    if (identity_ == nullptr) return nullptr;
    return {identity_, &identity_->name};
  }
  // The crawl ids that the caller is limited to; nullptr = no limit.
  [[nodiscard]] std::shared_ptr<const std::vector<std::string>> crawl_ids() const {
    if (identity_ == nullptr || !identity_->crawl_ids) return nullptr;
    return {identity_, &*identity_->crawl_ids};
  }

 private:
  std::shared_ptr<const Identity> identity_;
  std::shared_ptr<ItemBudget> budget_;
  uint64_t client_ = 0;
};

// The state of the authoriser, with its counts of refused calls. Value type, thread-compatible.
struct AuthStats {
  bool enabled = false;
  uint64_t identities = 0;
  uint64_t unauthenticated = 0;    // calls without a known identity
  uint64_t permission_denied = 0;  // calls without the required role, or beyond a limit
};

// Holds the identities and checks callers against them. Thread-safe.
class Authoriser {
 public:
  // `open` lists the values of MethodRule::open_as that need no identity. If `certificates` is set
  // and no identities are set yet, a client with a certificate from the client CA may do
  // everything. A client may send `items_per_second` unless its identity has another rate; 0 = no
  // limit. `clock` is for the expiry of certificates, and outlives this object; nullptr =
  // certificates never expire.
  Authoriser(std::vector<std::string> open, bool certificates, double items_per_second = 0,
             Clock* clock = nullptr);

  // Whether `what`, a value of MethodRule::open_as, needs no identity.
  [[nodiscard]] bool IsOpen(std::string_view what) const FRESHET_EXCLUDES(mutex_);
  // Replaces the constructor's `open` for all later calls.
  void SetOpen(std::vector<std::string> open) FRESHET_EXCLUDES(mutex_);
  void SetUsualItems(double items_per_second) { budgets_.SetUsual(items_per_second); }
  // Replaces the identities. From now on, clients without one of these are refused.
  void SetIdentities(Identities identities) FRESHET_EXCLUDES(mutex_);

  // A refused call that would have changed the server (ChangesServer). The views are valid while
  // the listener runs.
  struct Refusal {
    std::string_view path;
    std::string who;                   // "identity NAME", or "nobody known"
    std::optional<IpAddress> network;  // unset = not known
    Status why;
  };
  // `refused` is called for each Refusal, on the thread that checks the call; nullptr = no
  // listener.
  void SetListener(std::function<void(const Refusal&)> refused) FRESHET_EXCLUDES(mutex_);

  // Whether clients can be refused.
  [[nodiscard]] bool enabled() const { return certificates_ || generation_ != 0; }
  // A number that grows whenever the identities change.
  [[nodiscard]] uint64_t generation() const { return generation_; }

  // Checks a call, and counts refusals. Unauthenticated or PermissionDenied: the message says what
  // is missing.
  [[nodiscard]] StatusOr<Caller> Authorise(std::string_view path, const Credentials& credentials)
      FRESHET_EXCLUDES(mutex_);
  // Checks a call against its rule. Neither counts nor reports refusals.
  [[nodiscard]] StatusOr<Caller> Check(const MethodRule& rule, const Credentials& credentials) const
      FRESHET_EXCLUDES(mutex_);

  // Whether the results of Check and BudgetOf depend on the client.
  [[nodiscard]] bool knows_clients() const { return enabled() || budgets_.usual() > 0; }
  // The name of a call's client: its identity, or its network if it has no identity.
  [[nodiscard]] static std::string ClientOf(const Caller& caller, const Credentials& credentials);
  // The name of the client with these credentials: its identity, or its network if the credentials
  // prove no identity.
  [[nodiscard]] std::string ClientOf(const Credentials& credentials) const;
  // Whether the credentials belong to an identity with the role admin.
  [[nodiscard]] bool IsAdmin(const Credentials& credentials) const;
  // Whether clients can be refused, and the credentials prove neither an identity nor that the
  // client CA knows the client.
  [[nodiscard]] bool IsStranger(const Credentials& credentials) const;
  // The client's budget for Caller::SetBudget; nullptr = no limit.
  [[nodiscard]] std::shared_ptr<ItemBudget> BudgetOf(const Caller& caller,
                                                     const Credentials& credentials, Instant now);

  [[nodiscard]] AuthStats stats() const FRESHET_EXCLUDES(mutex_);

 private:
  [[nodiscard]] StatusOr<std::shared_ptr<const Identity>> Find(const Credentials& credentials) const
      FRESHET_EXCLUDES(mutex_);
  [[nodiscard]] std::shared_ptr<const Identities> identities() const FRESHET_EXCLUDES(mutex_);
  void Tell(const MethodRule& rule, const Credentials& credentials, const Status& why) const
      FRESHET_EXCLUDES(mutex_);

  // Fails if the client's certificate has expired.
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
