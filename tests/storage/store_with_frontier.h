#ifndef FRESHET_TESTS_STORAGE_STORE_WITH_FRONTIER_H_
#define FRESHET_TESTS_STORAGE_STORE_WITH_FRONTIER_H_

#include <memory>
#include <string>
#include <utility>

#include "gtest/gtest.h"
#include "storage/frontier_store.h"
#include "storage/store.h"

namespace freshet {

// A store and its frontier, which is closed first. If both are null, the store did not open, and
// the test has failed.
struct StoreWithFrontier {
  std::unique_ptr<Store> store;
  std::unique_ptr<FrontierStore> frontier;

  static StoreWithFrontier Open(const std::string& dir, const StoreOptions& options) {
    auto opened = Store::Open(dir, options);
    EXPECT_TRUE(opened.ok()) << opened.status();
    if (!opened.ok()) return {};
    auto frontier = std::make_unique<FrontierStore>(**opened);
    return {.store = *std::move(opened), .frontier = std::move(frontier)};
  }
};

}  // namespace freshet

#endif  // FRESHET_TESTS_STORAGE_STORE_WITH_FRONTIER_H_
