#include "server/auth/methods.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "absl/container/flat_hash_map.h"

namespace freshet {
namespace {

constexpr LimitKinds kPage = kCrawlIds | kHosts;

constexpr MethodRule kCalls[] = {
    {"/freshet.v1.SchedulerService/Crawl", kWorker, kCrawlIds, ""},
    {"/freshet.v1.SchedulerService/Next", kWorker, kCrawlIds, ""},
    // A result teaches how often pages change: whoever only sends signals is not to be believed so.
    {"/freshet.v1.IngestService/ReportCrawls", kWorker, kCrawlIds, ""},
    {"/freshet.v1.IngestService/SignalChanges", kIngester, kPage | kSources, ""},
    {"/freshet.v1.PagesService/UpsertPages", kIngester, kPage, ""},
    {"/freshet.v1.PagesService/RemovePages", kIngester, kPage, ""},
    {"/freshet.v1.PagesService/RecheckPages", kIngester, kPage, ""},
    {"/freshet.v1.PagesService/GetPage", kReader, kPage, ""},
    {"/freshet.v1.PagesService/ListPages", kReader, kPage, ""},
    {"/freshet.v1.PagesService/ExportPages", kReader, kPage, ""},
    {"/freshet.v1.AdminService/GetCrawlRate", kReader, kNoLimits, ""},
    {"/freshet.v1.AdminService/SetCrawlRate", kAdmin, kNoLimits, ""},
    {"/freshet.v1.AdminService/GetFleet", kReader, kNoLimits, ""},
    {"/freshet.v1.AdminService/GetPolicy", kReader, kNoLimits, ""},
    {"/freshet.v1.AdminService/SetPolicy", kAdmin, kNoLimits, ""},
    {"/freshet.v1.AdminService/GetHost", kReader, kHosts, ""},
    {"/freshet.v1.AdminService/SetHostPoliteness", kAdmin, kNoLimits, ""},
    {"/freshet.v1.AdminService/GetPolitenessDefaults", kReader, kNoLimits, ""},
    {"/freshet.v1.AdminService/SetPolitenessDefaults", kAdmin, kNoLimits, ""},
    {"/freshet.v1.AdminService/DrainNode", kAdmin, kNoLimits, ""},
    {"/freshet.v1.AdminService/Pause", kAdmin, kNoLimits, ""},
    {"/freshet.v1.AdminService/Resume", kAdmin, kNoLimits, ""},
    {"/freshet.v1.AdminService/RunEpoch", kAdmin, kNoLimits, ""},
    {"/freshet.v1.AdminService/CreateCheckpoint", kAdmin, kNoLimits, ""},
    {"/freshet.v1.AdminService/CompactStore", kAdmin, kNoLimits, ""},
    {"/freshet.v1.AdminService/GetStatistics", kReader, kNoLimits, ""},
    {"/freshet.v1.AdminService/GetTrustReport", kReader, kNoLimits, ""},
    {"/freshet.v1.AdminService/RegisterSource", kAdmin, kNoLimits, ""},
    {"/freshet.v1.AdminService/UnregisterSource", kAdmin, kNoLimits, ""},
    {"/freshet.v1.AdminService/ListSources", kReader, kNoLimits, ""},
    {"/freshet.v1.AdminService/ListCrawls", kReader, kNoLimits, ""},
    {"/freshet.v1.AdminService/SetCrawl", kAdmin, kNoLimits, ""},
    {"/freshet.v1.AdminService/DeleteCrawl", kAdmin, kNoLimits, ""},
    {"/freshet.v1.AdminService/ReportShadow", kReader, kNoLimits, ""},
    {"/freshet.v1.AdminService/ListHosts", kReader, kNoLimits, ""},
    {"/freshet.v1.AdminService/DeleteHost", kAdmin, kNoLimits, ""},
    {"/freshet.v1.AdminService/GetLogLevels", kReader, kNoLimits, ""},
    {"/freshet.v1.AdminService/SetLogLevel", kAdmin, kNoLimits, ""},
    {"/freshet.v1.AdminService/ListAudit", kAdmin, kNoLimits, ""},
    {"/freshet.v1.AuthService/WhoAmI", kAnyRole, kPage | kSources, ""},
    {"/urlfrontier.URLFrontier/GetURLs", kWorker, kCrawlIds, ""},
    {"/urlfrontier.URLFrontier/PutURLs", kWorker | kIngester, kCrawlIds, ""},
    {"/urlfrontier.URLFrontier/PutDiscovered", kWorker | kIngester, kCrawlIds, ""},
    // Crawlers say themselves how much their hosts bear. The default of all queues is an admin's.
    {"/urlfrontier.URLFrontier/BlockQueueUntil", kWorker, kCrawlIds, "", false, true},
    {"/urlfrontier.URLFrontier/SetDelay", kWorker, kCrawlIds, "", false, true},
    {"/urlfrontier.URLFrontier/ListNodes", kAnyRole, kCrawlIds, ""},
    {"/urlfrontier.URLFrontier/GetActive", kWorker | kReader, kCrawlIds, ""},
    {"/urlfrontier.URLFrontier/ListCrawls", kReader, kCrawlIds, ""},
    {"/urlfrontier.URLFrontier/ListQueues", kReader, kCrawlIds, ""},
    {"/urlfrontier.URLFrontier/GetStats", kReader, kCrawlIds, ""},
    {"/urlfrontier.URLFrontier/GetURLStatus", kReader, kCrawlIds, ""},
    {"/urlfrontier.URLFrontier/ListURLs", kReader, kCrawlIds, ""},
    {"/urlfrontier.URLFrontier/CountURLs", kReader, kCrawlIds, ""},
    {"/urlfrontier.URLFrontier/SetActive", kAdmin, kNoLimits, ""},
    {"/urlfrontier.URLFrontier/SetCrawlLimit", kAdmin, kNoLimits, ""},
    {"/urlfrontier.URLFrontier/DeleteCrawl", kAdmin, kNoLimits, ""},
    {"/urlfrontier.URLFrontier/DeleteQueue", kAdmin, kNoLimits, ""},
    {"/urlfrontier.URLFrontier/PurgeURLs", kAdmin, kNoLimits, ""},
    {"/urlfrontier.URLFrontier/SetLogLevel", kAdmin, kNoLimits, ""},
    {"/grpc.health.v1.Health/Check", 0, kNoLimits, ""},
    {"/grpc.health.v1.Health/Watch", 0, kNoLimits, ""},
    {"/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", kAnyRole, kPage | kSources,
     "reflection"},
};

// For those alone who have the key of the server (server/auth/on_behalf.h).
constexpr MethodRule kBetweenServers[] = {
    {"/freshet.v1.FleetService/ShareRate", 0, kNoLimits, "", true},
    {"/freshet.v1.FleetService/ShareSettings", 0, kNoLimits, "", true},
    {"/freshet.v1.FleetService/GetEpochTotals", 0, kNoLimits, "", true},
    {"/freshet.v1.FleetService/TakePing", 0, kNoLimits, "", true},
    {"/freshet.v1.FleetService/AnswerPing", 0, kNoLimits, "", true},
    {"/freshet.v1.FleetService/ReportStandby", 0, kNoLimits, "", true},
    {"/freshet.v1.FleetService/ReturnLeases", kWorker, kCrawlIds, "", true},
    {"/freshet.v1.FleetService/TakeUrls", 0, kNoLimits, "", true},
    {"/freshet.v1.FleetService/LeaseUrls", 0, kNoLimits, "", true},
};

constexpr MethodRule kPaths[] = {
    {"http:/healthz", 0, kNoLimits, ""},
    {"http:/readyz", 0, kNoLimits, ""},
    {"http:/metrics", kReader, kNoLimits, "metrics"},
    {"http:/", kReader, kNoLimits, "console"},
    {"http:/status.json", kReader, kNoLimits, "console"},
    {"http:/console/", kReader, kNoLimits, "console"},
    {"http:/console/api/overview", kReader, kNoLimits, "console"},
    {"http:/console/api/history", kReader, kNoLimits, "console"},
    {"http:/console/api/workers", kReader, kNoLimits, "console"},
    {"http:/console/api/policies", kReader, kNoLimits, "console"},
    {"http:/console/api/sources", kReader, kNoLimits, "console"},
    {"http:/console/api/trust", kReader, kNoLimits, "console"},
    {"http:/console/api/hosts", kReader, kNoLimits, "console"},
    {"http:/console/api/session", kAnyRole, kPage | kSources, "console"},
    {"http:/console/api/page", kReader, kPage, ""},
    {"http:/console/api/recheck", kIngester, kPage, ""},
    {"http:/console/api/rate", kAdmin, kNoLimits, ""},
    {"http:/console/api/policy", kAdmin, kNoLimits, ""},
    {"http:/console/api/pause", kAdmin, kNoLimits, ""},
    {"http:/console/api/resume", kAdmin, kNoLimits, ""},
    {"http:/console/api/host", kAdmin, kNoLimits, ""},
    {"http:/annotations", kAdmin, kNoLimits, ""},
    {"http:/indexnow", kIngester, kPage | kSources, "indexnow"},
};

constexpr auto kMethods = [] {
  std::array<MethodRule, std::size(kCalls) + std::size(kBetweenServers) + std::size(kPaths)> all{};
  auto* end = std::copy(std::begin(kCalls), std::end(kCalls), all.begin());
  end = std::copy(std::begin(kBetweenServers), std::end(kBetweenServers), end);
  std::copy(std::begin(kPaths), std::end(kPaths), end);
  return all;
}();

constexpr std::pair<std::string_view, Roles> kRoleNames[] = {
    {"worker", kWorker}, {"ingester", kIngester}, {"reader", kReader}, {"admin", kAdmin}};

}  // namespace

Roles RoleNamed(std::string_view name) {
  const auto* it = std::find_if(std::begin(kRoleNames), std::end(kRoleNames),
                                [name](const auto& entry) { return entry.first == name; });
  return it == std::end(kRoleNames) ? Roles{0} : it->second;
}

std::string RoleNames(Roles roles) {
  std::string names;
  for (const auto& [name, role] : kRoleNames) {
    if ((roles & role) == 0) continue;
    if (!names.empty()) names += " or ";
    names += name;
  }
  return names;
}

const MethodRule* FindMethod(std::string_view path) {
  static const auto* const kByPath = [] {
    auto* map = new absl::flat_hash_map<std::string_view, const MethodRule*>();
    for (const MethodRule& rule : kMethods) map->emplace(rule.path, &rule);
    return map;
  }();
  const auto it = kByPath->find(path);
  return it == kByPath->end() ? nullptr : it->second;
}

std::span<const MethodRule> AllMethods() { return kMethods; }

bool ChangesServer(const MethodRule& rule) {
  return rule.roles == kAdmin && rule.path != "/freshet.v1.AdminService/ListAudit";
}

}  // namespace freshet
