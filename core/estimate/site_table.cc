#include "core/estimate/site_table.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_split.h"
#include "core/base/check.h"
#include "core/base/limits.h"
#include "core/base/url.h"
#include "fmt/format.h"

namespace freshet {
namespace {

constexpr std::string_view kModelHeader = "freshet-site-models 2";
constexpr std::string_view kOldModelHeader = "freshet-site-models 1";
constexpr size_t kMaxSamplesOfHost = 256;
// A seat changes hands only if the new host's evidence is higher by this factor.
constexpr double kMargin = 1.25;

}  // namespace

SiteTable::Site::Site() : learner(kMaxSamplesOfHost) {}

SiteTable::SiteTable() : sites_(1) {}

uint16_t SiteTable::NumberOf(const std::string& host) const {
  const auto found = numbers_.find(host);
  return found == numbers_.end() ? 0 : found->second;
}

uint16_t SiteTable::GiveSeat(const std::string& host) {
  if (numbers_.size() >= limits::kMaxSiteModels) return 0;
  uint16_t number = 0;
  if (!free_.empty()) {
    number = free_.back();
    free_.pop_back();
  } else {
    number = static_cast<uint16_t>(sites_.size());
    sites_.emplace_back();
  }
  Site& site = sites_[number];
  site = Site();
  site.host = host;
  site.model = sites_[0].model;
  numbers_.emplace(host, number);
  return number;
}

void SiteTable::TakeSeat(uint16_t number) {
  Site& site = sites_[number];
  numbers_.erase(site.host);
  slot_counts_[SlotOfHost(site.host)].Add(site.counts);
  site = Site();
  site.model = sites_[0].model;
  free_.push_back(number);
}

size_t SiteTable::Bytes() const {
  size_t bytes = sites_.capacity() * sizeof(Site) +
                 slot_counts_.capacity() * sizeof(*slot_counts_.begin()) +
                 slot_learners_.capacity() * sizeof(*slot_learners_.begin()) +
                 numbers_.capacity() * sizeof(*numbers_.begin());
  for (const Site& site : sites_) {
    // The name is stored twice: in the site and as the key in numbers_.
    bytes += 2 * site.host.capacity() + site.learner.Bytes() + site.model.Bytes();
  }
  for (const auto& [slot, learner] : slot_learners_) bytes += learner.Bytes();
  return bytes;
}

void SiteTable::Begin() {
  for (Site& site : sites_) {
    site.learner.Clear();
    site.evidence = 0;
  }
  slot_learners_.clear();
}

void SiteTable::CountSeatless(const std::string& host, double evidence) {
  seatless_[host] += evidence;
  if (seatless_.size() <= limits::kMaxSiteModels) return;
  // Every host loses the median evidence, which leaves half of the hosts without evidence. These
  // are forgotten.
  std::vector<double> all;
  all.reserve(seatless_.size());
  for (const auto& [name, weight] : seatless_) all.push_back(weight);
  const auto middle = all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2);
  std::nth_element(all.begin(), middle, all.end());
  const double median = *middle;
  absl::erase_if(seatless_, [&](auto& entry) { return (entry.second -= median) <= 0; });
}

uint16_t SiteTable::Collect(const std::string& host, PageNumber number_of_page,
                            const PagePosterior& page) {
  uint16_t number = NumberOf(host);
  if (number == 0) number = GiveSeat(host);
  const double evidence = 1 + page.observations;
  if (number == 0) {
    CountSeatless(host, evidence);
    slot_learners_.try_emplace(SlotOf(number_of_page), kMaxSamplesOfHost)
        .first->second.Add(page, number_of_page);
    return 0;
  }
  sites_[number].learner.Add(page, number_of_page);
  sites_[number].evidence += evidence;
  return number;
}

void SiteTable::EndCollecting() { collected_ = CountsNow(); }

SiteTable::Counts SiteTable::CountsNow() const {
  Counts counts;
  counts.of_sites.reserve(sites_.size());
  for (const Site& site : sites_) counts.of_sites.push_back(site.counts);
  counts.of_slots.insert(slot_counts_.begin(), slot_counts_.end());
  return counts;
}

std::vector<std::pair<uint16_t, std::string>> SiteTable::Vacate() const {
  std::vector<std::pair<uint16_t, std::string>> vacated;
  std::vector<std::pair<double, uint16_t>> seated;
  for (const uint16_t number : NumbersByName()) {
    const Site& site = sites_[number];
    if (site.learner.pages() == 0) {
      vacated.emplace_back(number, std::string());
    } else {
      seated.emplace_back(site.evidence, number);
    }
  }
  std::vector<std::pair<double, std::string>> waiting;
  for (const auto& [host, weight] : seatless_) waiting.emplace_back(-weight, host);
  std::sort(waiting.begin(), waiting.end());
  std::sort(seated.begin(), seated.end());
  for (size_t i = 0; i < std::min(waiting.size(), seated.size()); ++i) {
    if (-waiting[i].first <= kMargin * seated[i].first) break;
    vacated.emplace_back(seated[i].second, std::move(waiting[i].second));
  }
  return vacated;
}

EpochSums SiteTable::Sums() const {
  EpochSums sums;
  const SiteLearner none(0);
  for (const auto& [slot, counts] : collected_.of_slots) sums.AddHost(slot, none, counts);
  for (const auto& [slot, learner] : slot_learners_) sums.AddHost(slot, learner, SiteCounts());
  for (const uint16_t number : NumbersByName()) {
    const Site& site = sites_[number];
    sums.AddHost(SlotOfHost(site.host), site.learner, collected_.of_sites[number]);
  }
  return sums;
}

std::vector<uint16_t> SiteTable::NumbersByName() const {
  std::vector<uint16_t> numbers;
  numbers.reserve(numbers_.size());
  for (const auto& [host, number] : numbers_) numbers.push_back(number);
  std::sort(numbers.begin(), numbers.end(),
            [&](uint16_t a, uint16_t b) { return sites_[a].host < sites_[b].host; });
  return numbers;
}

LearnedSites SiteTable::Learn(const EpochSums& all, double fade,
                              const std::atomic<bool>& stop) const {
  LearnedSites learned;
  learned.all = all.Fit();
  for (size_t number = 1; number < sites_.size() && !stop; ++number) {
    const Site& site = sites_[number];
    if (site.host.empty() || site.learner.pages() == 0) continue;
    const SiteCounts& counts = collected_.of_sites[number];
    SiteModel model = site.learner.FitHost(learned.all, counts.ages.Fit(learned.all.curve()),
                                           counts.lives.FitHost(learned.all.life()));
    if (!learned_ || MovedNotably(site.model, model)) {
      learned.moved.set(SlotOfHost(site.host).value());
    }
    learned.models.emplace_back(static_cast<uint16_t>(number), std::move(model));
  }
  if (!learned_ || MovedNotably(sites_[0].model, learned.all)) {
    for (const auto& [slot, learner] : slot_learners_) learned.moved.set(slot.value());
  }
  learned.vacated = Vacate();
  Counts counts = collected_;
  for (const auto& [number, host] : learned.vacated) {
    const Slot slot = SlotOfHost(sites_[number].host);
    counts.of_slots[slot].Add(std::exchange(counts.of_sites[number], SiteCounts()));
    learned.moved.set(slot.value());
    if (!host.empty()) learned.moved.set(SlotOfHost(host).value());
  }
  for (SiteCounts& of_site : counts.of_sites) of_site.Fade(fade);
  for (auto& [slot, of_slot] : counts.of_slots) of_slot.Fade(fade);
  learned.text = Serialise(&learned, counts);
  return learned;
}

void SiteTable::Finish(LearnedSites learned, double fade) {
  auto of_host = learned.models.begin();
  for (size_t number = 0; number < sites_.size(); ++number) {
    Site& site = sites_[number];
    const bool has_own = of_host != learned.models.end() && of_host->first == number;
    site.model = has_own ? std::move((of_host++)->second) : learned.all;
  }
  for (const auto& [number, host] : learned.vacated) {
    TakeSeat(number);
    if (!host.empty()) CHECK(GiveSeat(host) == number, "a seat that was taken is free");
  }
  seatless_.clear();
  learned_ = true;
  for (Site& site : sites_) site.counts.Fade(fade);
  for (auto& [slot, counts] : slot_counts_) counts.Fade(fade);
}

std::string SiteTable::Serialise() const { return Serialise(nullptr, CountsNow()); }

// Writes one line per site, the model of all hosts first, then one line per slot. The numbers of
// sites are not stored.
std::string SiteTable::Serialise(const LearnedSites* learned, const Counts& counts) const {
  struct Line {
    const std::string* host;
    const SiteModel* model;
  };
  std::vector<Line> lines;
  lines.reserve(sites_.size());
  for (const Site& site : sites_) lines.push_back({&site.host, &site.model});
  if (learned != nullptr) {
    for (Line& line : lines) line.model = &learned->all;
    for (const auto& [number, model] : learned->models) lines[number].model = &model;
    for (const auto& [number, host] : learned->vacated) lines[number] = {&host, &learned->all};
  }
  std::string out = fmt::format("{}\n", kModelHeader);
  for (size_t number = 0; number < lines.size(); ++number) {
    const auto& [host, model] = lines[number];
    if (number > 0 && host->empty()) continue;
    out += SerialiseSite(*host, *model, counts.of_sites[number]);
    out += '\n';
  }
  for (const auto& [slot, of_slot] : counts.of_slots) {
    out += SerialiseSlot(slot, of_slot);
    out += '\n';
  }
  return out;
}

Status SiteTable::Restore(std::string_view text) {
  const std::vector<std::string> lines =
      absl::StrSplit(absl::string_view(text.data(), text.size()), '\n', absl::SkipEmpty());
  // Old models with pooled precisions are useless here. The first epoch learns from the stored
  // pages instead.
  if (!lines.empty() && lines[0] == kOldModelHeader) return absl::OkStatus();
  if (lines.size() < 2 || lines[0] != kModelHeader) {
    return InvalidArgument(
        "site models: their version is not '{}', the only one that this program reads",
        kModelHeader);
  }
  const auto end_of_sites = std::find_if(lines.begin() + 1, lines.end(), IsSlotLine);
  const auto count = static_cast<size_t>(end_of_sites - lines.begin()) - 1;
  if (count == 0 || count - 1 > limits::kMaxSiteModels) {
    return InvalidArgument(
        "site models: {} lines; there must be one for all hosts, and at most {} for single hosts",
        count, limits::kMaxSiteModels);
  }
  absl::flat_hash_map<Slot, SiteCounts> slots;
  for (auto line = end_of_sites; line != lines.end(); ++line) {
    Slot slot;
    SiteCounts counts;
    RETURN_IF_ERROR(ParseSlot(*line, &slot, &counts));
    if (!slots.emplace(slot, counts).second) {
      return InvalidArgument("site models: slot {} twice", slot.value());
    }
  }
  std::vector<Site> sites(count);
  absl::flat_hash_map<std::string, uint16_t> numbers;
  for (size_t i = 0; i < sites.size(); ++i) {
    Site& site = sites[i];
    RETURN_IF_ERROR(ParseSite(lines[i + 1], &site.host, &site.model, &site.counts));
    const bool all = i == 0;
    if (all != site.host.empty()) {
      return InvalidArgument(
          "site models: host '{}' on line {}: only the first model, that of all hosts, has no host",
          site.host, i + 2);
    }
    if (!all && !numbers.emplace(site.host, static_cast<uint16_t>(i)).second) {
      return InvalidArgument("site models: host '{}' on line {} is there twice", site.host, i + 2);
    }
  }
  sites_ = std::move(sites);
  slot_counts_ = std::move(slots);
  slot_learners_.clear();
  numbers_ = std::move(numbers);
  free_.clear();
  seatless_.clear();
  learned_ = true;
  return absl::OkStatus();
}

}  // namespace freshet
