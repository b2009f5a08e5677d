#include "server/auth/authoriser.h"

#include <algorithm>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "core/base/check.h"
#include "core/model/lease.h"
#include "fmt/format.h"
#include "fmt/ranges.h"
#include "server/base/client_network.h"

namespace freshet {
namespace {

constexpr std::string_view kBearer = "Bearer ";
constexpr std::string_view kBasic = "Basic ";

template <typename... Args>
Status Denied(fmt::format_string<Args...> format, Args&&... args) {
  return MakeStatus(absl::StatusCode::kPermissionDenied, format, std::forward<Args>(args)...);
}

bool StartsWith(std::string_view text, std::string_view start) {
  return absl::StartsWithIgnoreCase({text.data(), text.size()}, {start.data(), start.size()});
}

bool Holds(const std::optional<std::vector<std::string>>& only, std::string_view name) {
  return !only || std::find(only->begin(), only->end(), name) != only->end();
}

std::string KindNames(LimitKinds kinds) {
  std::string names;
  for (const auto& [kind, name] : {std::pair<LimitKinds, const char*>{kCrawlIds, "crawl_ids"},
                                   {kHosts, "hosts"},
                                   {kSources, "sources"}}) {
    if ((kinds & kind) == 0) continue;
    if (!names.empty()) names += ", ";
    names += name;
  }
  return names;
}

Status Unauthenticated(std::string_view what) {
  return MakeStatus(absl::StatusCode::kUnauthenticated, "{}", what);
}

}  // namespace

void Credentials::AddAuthorization(std::string_view value) {
  std::string shown;
  if (StartsWith(value, kBearer)) {
    shown = value.substr(kBearer.size());
  } else if (StartsWith(value, kBasic)) {
    std::string pair;
    const std::string_view encoded = value.substr(kBasic.size());
    if (absl::Base64Unescape({encoded.data(), encoded.size()}, &pair)) {
      const size_t colon = pair.find(':');
      if (colon != std::string::npos) shown = pair.substr(colon + 1);
    }
  }
  if (shown.empty() || token) {
    malformed = true;
    return;
  }
  token = DigestOf(shown);
}

Status Caller::CheckCrawlId(std::string_view canonical) const {
  if (identity_ == nullptr || Holds(identity_->crawl_ids, canonical)) return absl::OkStatus();
  return Denied("crawl_id: identity {} may use only the crawl ids {}", identity_->name,
                fmt::join(*identity_->crawl_ids, ", "));
}

Status Caller::CheckHost(std::string_view canonical) const {
  if (identity_ == nullptr || !identity_->hosts) return absl::OkStatus();
  const std::vector<std::string>& hosts = *identity_->hosts;
  const bool within = std::any_of(hosts.begin(), hosts.end(), [canonical](const auto& domain) {
    return IsWithin(canonical, domain);
  });
  if (within) return absl::OkStatus();
  return Denied("url: identity {} may use only the hosts {} and hosts below them", identity_->name,
                fmt::join(hosts, ", "));
}

Status Caller::CheckSource(std::string_view name) const {
  if (identity_ == nullptr || Holds(identity_->sources, name)) return absl::OkStatus();
  return Denied("source: identity {} may send only as source {}", identity_->name,
                fmt::join(*identity_->sources, ", "));
}

Status Caller::CheckPage(std::string_view crawl_id, std::string_view host) const {
  RETURN_IF_ERROR(CheckCrawlId(crawl_id));
  return CheckHost(host);
}

Duration Caller::Pay(uint64_t items, Instant now) const {
  return budget_ == nullptr ? Duration() : budget_->Take(items, now);
}

Duration Caller::Owes(Instant now) const {
  return budget_ == nullptr ? Duration() : budget_->Owed(now);
}

Duration Caller::PayForCall(Instant now) const {
  return budget_ == nullptr ? Duration() : budget_->TakeIfLeft(1, now);
}

Status Caller::TooEarly(Duration wait) const {
  return MakeStatus(absl::StatusCode::kResourceExhausted,
                    "{} may send {:g} items a second: try again in {:.3f} s",
                    identity_ == nullptr ? "this client" : identity_->name, budget_->per_second(),
                    wait.seconds());
}

Authoriser::Authoriser(std::vector<std::string> open, bool certificates, double items_per_second,
                       Clock* clock)
    : certificates_(certificates),
      clock_(clock),
      budgets_(items_per_second),
      open_(std::move(open)) {}

void Authoriser::SetOpen(std::vector<std::string> open) {
  const MutexLock lock(mutex_);
  open_ = std::move(open);
}

bool Authoriser::IsOpen(std::string_view what) const {
  if (what.empty()) return false;
  const MutexLock lock(mutex_);
  return std::find(open_.begin(), open_.end(), what) != open_.end();
}

void Authoriser::SetIdentities(Identities identities) {
  auto shared = std::make_shared<const Identities>(std::move(identities));
  const MutexLock lock(mutex_);
  identities_ = std::move(shared);
  ++generation_;
}

std::shared_ptr<const Identities> Authoriser::identities() const {
  const MutexLock lock(mutex_);
  return identities_;
}

StatusOr<Caller> Authoriser::Authorise(std::string_view path, const Credentials& credentials) {
  if (!enabled()) return Caller();
  const MethodRule* rule = FindMethod(path);
  // The rule for unknown methods: a caller needs the role admin even to learn that a method is
  // unknown.
  static constexpr MethodRule kUnknown;
  StatusOr<Caller> caller = Check(rule != nullptr ? *rule : kUnknown, credentials);
  if (caller.ok() && rule == nullptr) {
    caller = MakeStatus(absl::StatusCode::kPermissionDenied, "nobody may call this");
  }
  if (absl::IsUnauthenticated(caller.status())) ++unauthenticated_;
  if (absl::IsPermissionDenied(caller.status())) ++permission_denied_;
  if (!caller.ok() && rule != nullptr) Tell(*rule, credentials, caller.status());
  return caller;
}

void Authoriser::SetListener(std::function<void(const Refusal&)> refused) {
  using Listener = const std::function<void(const Refusal&)>;
  auto shared = refused ? std::make_shared<Listener>(std::move(refused)) : nullptr;
  const MutexLock lock(mutex_);
  refused_ = std::move(shared);
}

void Authoriser::Tell(const MethodRule& rule, const Credentials& credentials,
                      const Status& why) const {
  if (!ChangesServer(rule)) return;
  std::shared_ptr<const std::function<void(const Refusal&)>> refused;
  {
    const MutexLock lock(mutex_);
    refused = refused_;
  }
  if (refused == nullptr) return;
  Refusal refusal = {.path = rule.path, .who = "nobody known", .network = {}, .why = why};
  if (!credentials.network.none()) refusal.network = credentials.network;
  const auto identity = Find(credentials);
  if (identity.ok() && *identity != nullptr) refusal.who = "identity " + (*identity)->name;
  (*refused)(refusal);
}

StatusOr<Caller> Authoriser::Check(const MethodRule& rule, const Credentials& credentials) const {
  if (!enabled() || rule.roles == 0 || IsOpen(rule.open_as)) return Caller();
  ASSIGN_OR_RETURN(const std::shared_ptr<const Identity> identity, Find(credentials));
  if (identity == nullptr) return Caller();
  if ((identity->roles & (rule.roles | kAdmin)) == 0) {
    return Denied("identity {} has none of the roles that this call requires: {}", identity->name,
                  RoleNames(rule.roles | kAdmin));
  }
  const auto unchecked = static_cast<LimitKinds>(identity->limits() & ~rule.checked);
  if (unchecked != 0) {
    return Denied("identity {} is limited to some {}, and this call concerns all", identity->name,
                  KindNames(unchecked));
  }
  return Caller(identity);
}

StatusOr<std::shared_ptr<const Identity>> Authoriser::Find(const Credentials& credentials) const {
  if (credentials.malformed) {
    return Unauthenticated("authorization: must be one `Bearer TOKEN`");
  }
  const std::shared_ptr<const Identities> all = identities();
  if (all == nullptr) {
    if (!credentials.certificate) return Unauthenticated("a client certificate is missing");
    RETURN_IF_ERROR(CheckCertificate(credentials));
    return nullptr;
  }
  if (credentials.token) {
    std::shared_ptr<const Identity> identity = all->OfToken(*credentials.token);
    if (identity == nullptr) return Unauthenticated("authorization: no identity has this token");
    return identity;
  }
  if (!credentials.certificate) {
    return Unauthenticated("a bearer token or a client certificate is missing");
  }
  RETURN_IF_ERROR(CheckCertificate(credentials));
  std::shared_ptr<const Identity> identity = all->OfCertificate(credentials.names);
  if (identity == nullptr) return Unauthenticated("no identity has this client certificate");
  return identity;
}

// TLS checked the certificate when the connection was made. The certificate can expire while the
// connection is open.
Status Authoriser::CheckCertificate(const Credentials& credentials) const {
  if (clock_ == nullptr || clock_->Now() < credentials.certificate_ends) return absl::OkStatus();
  return Unauthenticated("the client certificate has expired");
}

std::string Authoriser::ClientOf(const Caller& caller, const Credentials& credentials) {
  if (const auto& identity = caller.identity(); identity != nullptr) {
    return std::string(kIdentityClient) + identity->name;
  }
  return "network " + NetworkText(credentials.network);
}

std::string Authoriser::ClientOf(const Credentials& credentials) const {
  if (!enabled()) return ClientOf(Caller(), credentials);
  const auto identity = Find(credentials);
  return ClientOf(Caller(identity.ok() ? *identity : nullptr), credentials);
}

bool Authoriser::IsAdmin(const Credentials& credentials) const {
  const auto identity = Find(credentials);
  return identity.ok() && Caller(*identity).claim().admin;
}

bool Authoriser::IsStranger(const Credentials& credentials) const {
  return enabled() && !credentials.certificate && !Find(credentials).ok();
}

std::shared_ptr<ItemBudget> Authoriser::BudgetOf(const Caller& caller,
                                                 const Credentials& credentials, Instant now) {
  std::optional<double> own;
  if (const auto& identity = caller.identity(); identity != nullptr) {
    own = identity->items_per_second;
  }
  if (!own && budgets_.usual() <= 0) return nullptr;
  return budgets_.Of(ClientOf(caller, credentials), own, now);
}

AuthStats Authoriser::stats() const {
  const std::shared_ptr<const Identities> all = identities();
  return {.enabled = enabled(),
          .identities = all == nullptr ? 0 : all->size(),
          .unauthenticated = unauthenticated_,
          .permission_denied = permission_denied_};
}

}  // namespace freshet
