// Results of reading many pages (Store::List and Store::ScanPages). Value types, thread-compatible.
#ifndef FRESHET_STORAGE_PAGES_READ_H_
#define FRESHET_STORAGE_PAGES_READ_H_

#include <string>
#include <vector>

#include "core/model/page.h"
#include "core/model/page_number.h"

namespace freshet {

struct ListResult {
  std::vector<PageRecord> pages;
  std::string next_token;  // empty = no more pages
};

struct ScanResult {
  std::vector<PageRecord> pages;
  PageNumber next;  // number to continue from; meaningless when done
  bool done = false;
};

}  // namespace freshet

#endif  // FRESHET_STORAGE_PAGES_READ_H_
