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
    {"/freshet.v1.SchedulerService/Crawl", Route::kCredit, kWorker, kCrawlIds, ""},
    {"/freshet.v1.SchedulerService/Next", Route::kHere, kWorker, kCrawlIds, ""},
    // The server learns from results how often pages change. A client that only sends signals is
    // not trusted with results.
    {"/freshet.v1.IngestService/ReportCrawls", Route::kByItem, kWorker, kCrawlIds, ""},
    {"/freshet.v1.IngestService/SignalChanges", Route::kByItem, kIngester, kPage | kSources, ""},
    {"/freshet.v1.PagesService/UpsertPages", Route::kByItem, kIngester, kPage, ""},
    {"/freshet.v1.PagesService/RemovePages", Route::kByItem, kIngester, kPage, ""},
    {"/freshet.v1.PagesService/RecheckPages", Route::kByItem, kIngester, kPage, ""},
    {"/freshet.v1.PagesService/GetPage", Route::kByHost, kReader, kPage, ""},
    {"/freshet.v1.PagesService/ListPages", Route::kInTurn, kReader, kPage, ""},
    {"/freshet.v1.PagesService/ExportPages", Route::kInTurn, kReader, kPage, ""},
    {"/freshet.v1.AdminService/GetCrawlRate", Route::kKeeper, kReader, kNoLimits, ""},
    {"/freshet.v1.AdminService/SetCrawlRate", Route::kKeeper, kAdmin, kNoLimits, ""},
    {"/freshet.v1.AdminService/GetFleet", Route::kAll, kReader, kNoLimits, ""},
    {"/freshet.v1.AdminService/GetPolicy", Route::kHere, kReader, kNoLimits, ""},
    {"/freshet.v1.AdminService/SetPolicy", Route::kSetting, kAdmin, kNoLimits, ""},
    {"/freshet.v1.AdminService/GetHost", Route::kByHost, kReader, kHosts, ""},
    {"/freshet.v1.AdminService/SetHostPoliteness", Route::kByHost, kAdmin, kNoLimits, ""},
    {"/freshet.v1.AdminService/GetPolitenessDefaults", Route::kHere, kReader, kNoLimits, ""},
    {"/freshet.v1.AdminService/SetPolitenessDefaults", Route::kSetting, kAdmin, kNoLimits, ""},
    {"/freshet.v1.AdminService/DrainNode", Route::kAll, kAdmin, kNoLimits, ""},
    {"/freshet.v1.AdminService/Pause", Route::kPause, kAdmin, kNoLimits, ""},
    {"/freshet.v1.AdminService/Resume", Route::kSetting, kAdmin, kNoLimits, ""},
    {"/freshet.v1.AdminService/RunEpoch", Route::kDoneByAll, kAdmin, kNoLimits, ""},
    {"/freshet.v1.AdminService/CreateCheckpoint", Route::kHere, kAdmin, kNoLimits, ""},
    {"/freshet.v1.AdminService/CompactStore", Route::kHere, kAdmin, kNoLimits, ""},
    {"/freshet.v1.AdminService/GetStatistics", Route::kAll, kReader, kNoLimits, "", false, false,
     true},
    {"/freshet.v1.AdminService/GetTrustReport", Route::kAll, kReader, kNoLimits, ""},
    {"/freshet.v1.AdminService/RegisterSource", Route::kSetting, kAdmin, kNoLimits, ""},
    {"/freshet.v1.AdminService/UnregisterSource", Route::kRemoval, kAdmin, kNoLimits, ""},
    {"/freshet.v1.AdminService/ListSources", Route::kAll, kReader, kNoLimits, ""},
    {"/freshet.v1.AdminService/ListCrawls", Route::kAll, kReader, kNoLimits, ""},
    {"/freshet.v1.AdminService/SetCrawl", Route::kSetting, kAdmin, kNoLimits, ""},
    {"/freshet.v1.AdminService/DeleteCrawl", Route::kRemoval, kAdmin, kNoLimits, ""},
    {"/freshet.v1.AdminService/ReportShadow", Route::kHere, kReader, kNoLimits, ""},
    {"/freshet.v1.AdminService/ListHosts", Route::kInTurn, kReader, kNoLimits, ""},
    {"/freshet.v1.AdminService/DeleteHost", Route::kByHost, kAdmin, kNoLimits, ""},
    {"/freshet.v1.AdminService/GetLogLevels", Route::kHere, kReader, kNoLimits, ""},
    {"/freshet.v1.AdminService/SetLogLevel", Route::kHere, kAdmin, kNoLimits, ""},
    {"/freshet.v1.AdminService/ListAudit", Route::kHere, kAdmin, kNoLimits, ""},
    {"/freshet.v1.AuthService/WhoAmI", Route::kHere, kAnyRole, kPage | kSources, ""},
    {"/urlfrontier.URLFrontier/GetURLs", Route::kKeeper, kWorker, kCrawlIds, ""},
    {"/urlfrontier.URLFrontier/PutURLs", Route::kKeeper, kWorker | kIngester, kCrawlIds, ""},
    {"/urlfrontier.URLFrontier/PutDiscovered", Route::kKeeper, kWorker | kIngester, kCrawlIds, ""},
    // Crawlers may say how much load their hosts can bear. Only an admin may set the default of all
    // queues.
    {"/urlfrontier.URLFrontier/BlockQueueUntil", Route::kKeeper, kWorker, kCrawlIds, "", false,
     true},
    {"/urlfrontier.URLFrontier/SetDelay", Route::kKeeper, kWorker, kCrawlIds, "", false, true},
    {"/urlfrontier.URLFrontier/ListNodes", Route::kKeeper, kAnyRole, kCrawlIds, ""},
    {"/urlfrontier.URLFrontier/GetActive", Route::kKeeper, kWorker | kReader, kCrawlIds, ""},
    {"/urlfrontier.URLFrontier/ListCrawls", Route::kKeeper, kReader, kCrawlIds, ""},
    {"/urlfrontier.URLFrontier/ListQueues", Route::kKeeper, kReader, kCrawlIds, ""},
    {"/urlfrontier.URLFrontier/GetStats", Route::kKeeper, kReader, kCrawlIds, ""},
    {"/urlfrontier.URLFrontier/GetURLStatus", Route::kKeeper, kReader, kCrawlIds, ""},
    {"/urlfrontier.URLFrontier/ListURLs", Route::kKeeper, kReader, kCrawlIds, ""},
    {"/urlfrontier.URLFrontier/CountURLs", Route::kKeeper, kReader, kCrawlIds, ""},
    {"/urlfrontier.URLFrontier/SetActive", Route::kKeeper, kAdmin, kNoLimits, ""},
    {"/urlfrontier.URLFrontier/SetCrawlLimit", Route::kKeeper, kAdmin, kNoLimits, ""},
    {"/urlfrontier.URLFrontier/DeleteCrawl", Route::kKeeper, kAdmin, kNoLimits, ""},
    {"/urlfrontier.URLFrontier/DeleteQueue", Route::kKeeper, kAdmin, kNoLimits, ""},
    {"/urlfrontier.URLFrontier/PurgeURLs", Route::kKeeper, kAdmin, kNoLimits, ""},
    {"/urlfrontier.URLFrontier/SetLogLevel", Route::kKeeper, kAdmin, kNoLimits, ""},
    {"/grpc.health.v1.Health/Check", Route::kHere, 0, kNoLimits, ""},
    {"/grpc.health.v1.Health/Watch", Route::kHere, 0, kNoLimits, ""},
    {"/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", Route::kHere, kAnyRole,
     kPage | kSources, "reflection"},
};

// Only callers with the key of this server may make these calls (server/auth/on_behalf.h).
constexpr MethodRule kBetweenServers[] = {
    {"/freshet.v1.FleetService/ShareRate", Route::kHere, 0, kNoLimits, "", true},
    {"/freshet.v1.FleetService/ShareSettings", Route::kHere, 0, kNoLimits, "", true},
    {"/freshet.v1.FleetService/GetEpochTotals", Route::kHere, 0, kNoLimits, "", true},
    {"/freshet.v1.FleetService/TakePing", Route::kHere, 0, kNoLimits, "", true},
    {"/freshet.v1.FleetService/AnswerPing", Route::kHere, 0, kNoLimits, "", true},
    {"/freshet.v1.FleetService/ReportStandby", Route::kHere, 0, kNoLimits, "", true},
    {"/freshet.v1.FleetService/ReturnLeases", Route::kHere, kWorker, kCrawlIds, "", true},
    {"/freshet.v1.FleetService/TakeUrls", Route::kHere, 0, kNoLimits, "", true},
    {"/freshet.v1.FleetService/LeaseUrls", Route::kHere, 0, kNoLimits, "", true},
    {"/freshet.v1.FleetService/CountLeasedPages", Route::kHere, 0, kNoLimits, "", true},
};

constexpr MethodRule kPaths[] = {
    {"http:/healthz", Route::kHere, 0, kNoLimits, ""},
    {"http:/readyz", Route::kHere, 0, kNoLimits, ""},
    {"http:/metrics", Route::kHere, kReader, kNoLimits, "metrics"},
    {"http:/", Route::kHere, kReader, kNoLimits, "console"},
    {"http:/status.json", Route::kHere, kReader, kNoLimits, "console"},
    {"http:/console/", Route::kHere, kReader, kNoLimits, "console"},
    {"http:/console/api/overview", Route::kHere, kReader, kNoLimits, "console"},
    {"http:/console/api/history", Route::kHere, kReader, kNoLimits, "console"},
    {"http:/console/api/workers", Route::kHere, kReader, kNoLimits, "console"},
    {"http:/console/api/policies", Route::kHere, kReader, kNoLimits, "console"},
    {"http:/console/api/sources", Route::kHere, kReader, kNoLimits, "console"},
    {"http:/console/api/trust", Route::kHere, kReader, kNoLimits, "console"},
    {"http:/console/api/hosts", Route::kHere, kReader, kNoLimits, "console"},
    {"http:/console/api/session", Route::kHere, kAnyRole, kPage | kSources, "console"},
    {"http:/console/api/page", Route::kHere, kReader, kPage, ""},
    {"http:/console/api/recheck", Route::kHere, kIngester, kPage, ""},
    {"http:/console/api/rate", Route::kHere, kAdmin, kNoLimits, ""},
    {"http:/console/api/policy", Route::kHere, kAdmin, kNoLimits, ""},
    {"http:/console/api/pause", Route::kHere, kAdmin, kNoLimits, ""},
    {"http:/console/api/resume", Route::kHere, kAdmin, kNoLimits, ""},
    {"http:/console/api/host", Route::kHere, kAdmin, kNoLimits, ""},
    {"http:/annotations", Route::kHere, kAdmin, kNoLimits, ""},
    {"http:/indexnow", Route::kHere, kIngester, kPage | kSources, "indexnow"},
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
