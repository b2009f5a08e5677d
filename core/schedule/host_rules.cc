#include "core/schedule/host_rules.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/string_view.h"
#include "core/base/check.h"
#include "core/base/limits.h"

namespace freshet {
namespace {

const HostRule* FindIn(const absl::flat_hash_map<std::string, uint32_t>& names,
                       const std::vector<HostRule>& rules, std::string_view name) {
  const auto it = names.find(absl::string_view(name.data(), name.size()));
  return it == names.end() ? nullptr : &rules[it->second];
}

bool SetsNothing(const HostRule& rule) {
  return !rule.min_delay && !rule.max_in_flight && !rule.min_page_interval && !rule.max_crawls &&
         !rule.hours && !rule.group;
}

}  // namespace

Status HostRules::Add(uint32_t index) {
  const HostRule& rule = rules_[index];
  if (rule.hosts.empty() && rule.suffix.empty()) {
    return InvalidArgument("rule '{}': has neither hosts nor suffix", rule.name);
  }
  if (SetsNothing(rule)) return InvalidArgument("rule '{}': sets nothing", rule.name);
  const auto claim = [&](auto& names, const std::string& name, std::string_view what) -> Status {
    const auto [it, first] = names.try_emplace(name, index);
    if (first) return absl::OkStatus();
    return InvalidArgument("rule '{}': {} {} is in rule '{}' already", rule.name, what, name,
                           rules_[it->second].name);
  };
  for (const std::string& host : rule.hosts) RETURN_IF_ERROR(claim(by_host_, host, "host"));
  if (rule.suffix.empty()) return absl::OkStatus();
  return claim(by_suffix_, rule.suffix, "suffix");
}

StatusOr<std::shared_ptr<const HostRules>> HostRules::Make(std::vector<HostRule> rules,
                                                           const SharedTerms& shared) {
  if (rules.size() > limits::kMaxHostRules) {
    return InvalidArgument("{} host rules are over the limit of {}", rules.size(),
                           limits::kMaxHostRules);
  }
  auto made = std::make_shared<HostRules>();
  made->rules_ = std::move(rules);
  made->shared_ = shared;
  std::set<std::string_view> names;
  for (uint32_t i = 0; i < made->rules_.size(); ++i) {
    const HostRule& rule = made->rules_[i];
    if (!names.insert(rule.name).second) {
      return InvalidArgument("rule '{}': another rule has this name", rule.name);
    }
    RETURN_IF_ERROR(made->Add(i));
    made->groups_.push_back(
        rule.group ? std::make_shared<HostGroup>(HostGroup{rule.name, *rule.group}) : nullptr);
  }
  return std::shared_ptr<const HostRules>(std::move(made));
}

const HostRule* HostRules::Find(std::string_view host) const {
  if (rules_.empty()) return nullptr;
  if (const HostRule* rule = FindIn(by_host_, rules_, host)) return rule;
  for (std::string_view domain = host; !domain.empty() && !by_suffix_.empty();) {
    if (const HostRule* rule = FindIn(by_suffix_, rules_, domain)) return rule;
    const size_t dot = domain.find('.');
    if (dot == std::string_view::npos) break;
    domain.remove_prefix(dot + 1);
  }
  return nullptr;
}

std::shared_ptr<const HostGroup> HostRules::GroupOf(const HostRule& rule) const {
  const auto index = static_cast<size_t>(&rule - rules_.data());
  CHECK(index < groups_.size(), "rule '{}' is of others", rule.name);
  return groups_[index];
}

std::shared_ptr<const HostGroup> SharedGroups::Of(std::string name, const GroupTerms& terms) {
  std::weak_ptr<const HostGroup>& known = groups_[name];
  if (std::shared_ptr<const HostGroup> group = known.lock()) return group;
  auto group = std::make_shared<const HostGroup>(HostGroup{std::move(name), terms});
  known = group;
  if (groups_.size() >= sweep_at_) {
    absl::erase_if(groups_, [](const auto& entry) { return entry.second.expired(); });
    sweep_at_ = std::max(sweep_at_, 2 * groups_.size());
  }
  return group;
}

}  // namespace freshet
