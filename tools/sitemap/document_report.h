// Reports what a poll found in documents, one by one, up to a limit.
#ifndef FRESHET_TOOLS_SITEMAP_DOCUMENT_REPORT_H_
#define FRESHET_TOOLS_SITEMAP_DOCUMENT_REPORT_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace freshet::sitemap {

// A report names at most this many omitted entries, and counts the others.
inline constexpr size_t kMaxNamedLeftOut = 10;
// One poll of an argument prints at most this many complaints, and counts the others. Prints the
// whole document that reaches this number, and the error that ends the poll.
inline constexpr uint64_t kMaxComplaints = 50;
// One poll of an argument prints at most this many read or unchanged documents, and counts the
// others.
inline constexpr uint64_t kMaxListed = 50;

// The result of polling one document: how many entries it has, and how they were handled. Value
// type, thread-compatible.
struct DocumentReport {
  enum class Result { kRead, kUnchanged, kFailed };
  std::string document;
  std::string kind = "document";  // NameOf(its kind), or "robots"
  Result result = Result::kRead;
  std::string why;  // why the poll failed; empty = it did not
  // Pages or sitemaps that the document lists, with and without a URL. The counts below are parts
  // of this number.
  uint64_t entries = 0;
  uint64_t new_pages = 0;   // pages new to the server
  uint64_t signals = 0;     // known pages with a newer date
  uint64_t refused = 0;     // new pages and signals that the server refused
  uint64_t undated = 0;     // entries without a date
  uint64_t unreadable = 0;  // entries with an unreadable date, or one before 1990
  uint64_t future = 0;      // entries with a date in the future
  // Omitted entries:
  uint64_t other_hosts = 0;           // URL at another host
  uint64_t bad_urls = 0;              // unusable URL
  uint64_t without_url = 0;           // no URL
  std::vector<std::string> left_out;  // the first of these, with reasons
  // Bytes of the URLs of documents that are not omitted.
  size_t name_bytes = 0;
  // Faults of an XML document that was read although it is not well-formed.
  uint64_t mended = 0;
  std::vector<std::string> refusals;  // the first refused entries, with reasons
  // The poll has printed enough: the complaints, or the whole document, are only counted.
  bool untold = false;
  bool unlisted = false;

  [[nodiscard]] uint64_t LeftOut() const { return other_hosts + bad_urls + without_url; }
  // Whether the document has entries but none is usable.
  [[nodiscard]] bool Useless() const { return entries > 0 && LeftOut() == entries; }
  // Returns one line about each fault of the document.
  [[nodiscard]] std::vector<std::string> Complaints() const;
};

// The lines that one poll of an argument has printed, and those it only counted. Thread-compatible.
struct PollTally {
  uint64_t complaints = 0;
  uint64_t documents = 0;  // read or unchanged ones
  uint64_t untold = 0;     // complaints that were only counted
  // Documents that were only counted, and their pages and signals.
  uint64_t unlisted = 0;
  uint64_t new_pages = 0;
  uint64_t signals = 0;

  // Counts the document, and decides how much of it to print.
  void Take(DocumentReport* report);
};

}  // namespace freshet::sitemap

#endif  // FRESHET_TOOLS_SITEMAP_DOCUMENT_REPORT_H_
