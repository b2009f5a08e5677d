// Decides who calls and whether they may: the only place that does.
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

// The proof of identity that a client has shown. Value type, thread-compatible.
struct Credentials {
  std::optional<TokenDigest> token;  // the digest of a bearer token
  bool malformed = false;            // an authorization that is no bearer token, or several
  bool certificate = false;          // checked against the client CA
  std::vector<std::string> names;    // subject alternative names of the certificate
  Instant certificate_ends = Instant::Infinite();  // the certificate proves nothing from then on
  IpAddress network;  // the network of the client (server/base/client_network.h)

  // Reads the value of an `authorization` header: "Bearer TOKEN", or "Basic" with the token as the
  // password, which is what browsers send.
  void AddAuthorization(std::string_view value);
};

// The client that calls, as far as items are concerned. Value type, thread-compatible.
class Caller {
 public:
  // A caller without limits.
  Caller() = default;
  explicit Caller(std::shared_ptr<const Identity> identity) : identity_(std::move(identity)) {}

  // nullptr = no identities: all clients may do everything.
  [[nodiscard]] const std::shared_ptr<const Identity>& identity() const { return identity_; }
  // Whether the client may do everything: an admin, or any client if there are no identities.
  [[nodiscard]] bool is_admin() const {
    return identity_ == nullptr || (identity_->roles & kAdmin) != 0;
  }
  [[nodiscard]] bool limited() const { return identity_ != nullptr && identity_->limits() != 0; }

  // PermissionDenied: the caller is limited to others. The error says nothing of what exists.
  [[nodiscard]] Status CheckCrawlId(std::string_view canonical) const;
  [[nodiscard]] Status CheckHost(std::string_view canonical) const;
  [[nodiscard]] Status CheckSource(std::string_view name) const;
  // Sets the client's number (Authoriser::ClientOf), which shares of tables are counted by.
  void SetClient(uint64_t client) { client_ = client; }
  [[nodiscard]] Claim claim() const {
    if (identity_ == nullptr) return {.client = client_};
    return {.client = client_,
            .named = identity_->crawl_ids.has_value(),
            .admin = (identity_->roles & kAdmin) != 0};
  }
  // Sets the budget that items are paid from; nullptr = any number of items. Calls and streams of
  // one client share it.
  void SetBudget(std::shared_ptr<ItemBudget> budget) { budget_ = std::move(budget); }
  // Charges the client for `items` items. Returns how long the stream should not be read.
  [[nodiscard]] Duration Pay(uint64_t items, Instant now) const;
  // How long the client should send nothing, for what it has sent so far.
  [[nodiscard]] Duration Owes(Instant now) const;
  // Pays for a call, as for one item, unless it comes too early. Returns by how much, 0 = it does
  // not.
  [[nodiscard]] Duration PayForCall(Instant now) const;
  // The ResourceExhausted of a call that comes too early by `wait`.
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

// Counts of refused calls. Value type, thread-compatible.
struct AuthStats {
  bool enabled = false;
  uint64_t identities = 0;
  uint64_t unauthenticated = 0;    // calls without a known identity
  uint64_t permission_denied = 0;  // calls without the role, or beyond a limit
};

// Holds the identities and checks callers against them. Thread-safe.
class Authoriser {
 public:
  // `open`: names of MethodRule::open_as that need no identity. With `certificates`, a client whose
  // certificate the client CA has signed may do everything until there are identities. A client may
  // send `items_per_second` unless its identity says otherwise; 0 = no limit. `clock`, which
  // outlives this, says which certificates have ended; nullptr = none have.
  Authoriser(std::vector<std::string> open, bool certificates, double items_per_second = 0,
             Clock* clock = nullptr);

  // Whether `what` needs no identity.
  [[nodiscard]] bool IsOpen(std::string_view what) const FRESHET_EXCLUDES(mutex_);
  // Holds from the next call on.
  void SetOpen(std::vector<std::string> open) FRESHET_EXCLUDES(mutex_);
  void SetUsualItems(double items_per_second) { budgets_.SetUsual(items_per_second); }
  // From now on only these identities come in.
  void SetIdentities(Identities identities) FRESHET_EXCLUDES(mutex_);

  // The refusal of a call that changes the server (ChangesServer). Views are valid during the call.
  struct Refusal {
    std::string_view path;
    std::string who;                   // as ClientOf, as far as known
    std::optional<IpAddress> network;  // unset = not known
    Status why;
  };
  // `refused` is called for each refusal, on the thread that asks; nullptr = none.
  void SetListener(std::function<void(const Refusal&)> refused) FRESHET_EXCLUDES(mutex_);

  // Whether clients can be refused.
  [[nodiscard]] bool enabled() const { return certificates_ || generation_ != 0; }
  // Changes with the identities.
  [[nodiscard]] uint64_t generation() const { return generation_; }

  // Checks a call. Unauthenticated or PermissionDenied says what is missing.
  [[nodiscard]] StatusOr<Caller> Authorise(std::string_view path, const Credentials& credentials)
      FRESHET_EXCLUDES(mutex_);
  // Checks a call by a rule that exists; counts nothing.
  [[nodiscard]] StatusOr<Caller> Check(const MethodRule& rule, const Credentials& credentials) const
      FRESHET_EXCLUDES(mutex_);

  // Whether what a client shows matters for Check or BudgetOf.
  [[nodiscard]] bool knows_clients() const { return enabled() || budgets_.usual() > 0; }
  // Names the client of a call: its identity, else its network.
  [[nodiscard]] static std::string ClientOf(const Caller& caller, const Credentials& credentials);
  // Names the client that has shown these credentials, whether or not they prove anything.
  [[nodiscard]] std::string ClientOf(const Credentials& credentials) const;
  // Whether the credentials belong to an identity with the role admin.
  [[nodiscard]] bool IsAdmin(const Credentials& credentials) const;
  // The budget for Caller::SetBudget.
  [[nodiscard]] std::shared_ptr<ItemBudget> BudgetOf(const Caller& caller,
                                                     const Credentials& credentials, Instant now);

  [[nodiscard]] AuthStats stats() const FRESHET_EXCLUDES(mutex_);

 private:
  [[nodiscard]] StatusOr<std::shared_ptr<const Identity>> Find(const Credentials& credentials) const
      FRESHET_EXCLUDES(mutex_);
  [[nodiscard]] std::shared_ptr<const Identities> identities() const FRESHET_EXCLUDES(mutex_);
  void Tell(const MethodRule& rule, const Credentials& credentials, const Status& why) const
      FRESHET_EXCLUDES(mutex_);

  // Fails if the client has shown a certificate that has ended.
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
