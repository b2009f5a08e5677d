// Messages of 16 MiB with millions of empty items or megabytes of text that is not UTF-8, and
// messages above the limit; several at once.
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "tests/hostile/raw_call.h"
#include "tests/hostile/scripts.h"

namespace freshet::hostile {
namespace {

constexpr size_t kLargest = size_t{16} << 20;

constexpr const char* kMethods[] = {
    "/freshet.v1.PagesService/UpsertPages",    "/freshet.v1.IngestService/ReportCrawls",
    "/freshet.v1.IngestService/SignalChanges", "/freshet.v1.SchedulerService/Crawl",
    "/freshet.v1.PagesService/RemovePages",    "/freshet.v1.PagesService/RecheckPages",
};

std::string Repeated(const std::string& item, size_t size) {
  std::string bytes;
  bytes.reserve(size + item.size());
  while (bytes.size() + item.size() <= size) bytes += item;
  return bytes;
}

std::string Giant(Attack& attack) {
  switch (attack.Below(4)) {
    case 0:  // empty items
      return Repeated(std::string("\x12\0", 2), kLargest - 1000);
    case 1:  // items whose only text is not UTF-8
      return Repeated("\x12\x04\x0a\x02\xff\xfe", 1'000'000 + attack.Below(kLargest / 2));
    case 2:  // one text, which is not UTF-8
      return std::string("\x0a\x80\x80\x40", 4) + std::string(size_t{1} << 20, '\xff');
    default:
      return std::string(kLargest + 1 + attack.Below(100'000), '\x12');
  }
}

void Send(Attack attack) {
  const auto channel = attack.Connect();
  while (!attack.Over()) {
    const std::string bytes = Giant(attack);
    const auto call = attack.Call();
    (void)SendBytes(channel, *call, kMethods[attack.Below(std::size(kMethods))], bytes);
  }
}

}  // namespace

void Giants(Attack& attack) {
  std::vector<std::thread> senders;
  for (int i = 0; i < 4; ++i) senders.emplace_back(Send, attack.Split());
  for (std::thread& sender : senders) sender.join();
}

}  // namespace freshet::hostile
