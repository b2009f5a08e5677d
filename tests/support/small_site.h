// A web site on this machine whose answers a test sets.
#ifndef FRESHET_TESTS_SUPPORT_SMALL_SITE_H_
#define FRESHET_TESTS_SUPPORT_SMALL_SITE_H_

#include <atomic>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "httplib.h"
#include "sync/mutex.h"
#include "tests/support/wall_time.h"

namespace freshet {

// A site with documents. Thread-safe.
class SmallSite {
 public:
  using Answer = std::function<void(const httplib::Request&, httplib::Response&)>;

  // Listens on 127.0.0.1 or another address of this machine.
  explicit SmallSite(const char* address = "127.0.0.1") {
    server_.set_pre_routing_handler(
        [this](const httplib::Request& request, httplib::Response& response) {
          return Serve(request, response);
        });
    port_ = server_.bind_to_any_port(address);
    EXPECT_GT(port_, 0);
    url_ = "http://" + std::string(address) + ":" + std::to_string(port_);
    thread_ = std::thread([this] { server_.listen_after_bind(); });
    // Waits until the server runs, because it cannot be stopped before.
    WaitUntil([this] { return server_.is_running(); });
  }
  ~SmallSite() {
    server_.stop();
    thread_.join();
  }
  SmallSite(const SmallSite&) = delete;
  SmallSite& operator=(const SmallSite&) = delete;

  // The URL of the site without a slash at the end.
  [[nodiscard]] const std::string& url() const { return url_; }

  // Puts a document at a path. It has an ETag of its content, so an unchanged document is not sent
  // again.
  void Put(const std::string& path, std::string body) {
    const std::string etag = "\"" + std::to_string(std::hash<std::string>()(body)) + "\"";
    PutAnswer(path, [etag, body = std::move(body)](const auto& request, auto& response) {
      response.set_header("ETag", etag);
      if (request.get_header_value("If-None-Match") == etag) {
        response.status = 304;
      } else {
        response.set_content(body, "application/xml");
      }
    });
  }
  void PutRedirect(const std::string& path, const std::string& target) {
    PutAnswer(path, [target](const auto&, auto& response) { response.set_redirect(target); });
  }
  void PutAnswer(const std::string& path, Answer answer) {
    const MutexLock lock(mutex_);
    answers_[path] = std::move(answer);
  }

  // Returns the paths that were requested so far, with " 304" after those that were answered with
  // 304.
  [[nodiscard]] std::vector<std::string> Asked() const {
    const MutexLock lock(mutex_);
    return asked_;
  }

 private:
  httplib::Server::HandlerResponse Serve(const httplib::Request& request,
                                         httplib::Response& response) {
    Answer answer;
    {
      const MutexLock lock(mutex_);
      const auto found = answers_.find(request.path);
      if (found != answers_.end()) answer = found->second;
    }
    response.status = 200;
    answer ? answer(request, response) : void(response.status = 404);
    const MutexLock lock(mutex_);
    asked_.push_back(request.path + (response.status == 304 ? " 304" : ""));
    return httplib::Server::HandlerResponse::Handled;
  }

  httplib::Server server_;
  int port_ = 0;
  std::string url_;
  mutable Mutex mutex_;
  std::map<std::string, Answer> answers_ FRESHET_GUARDED_BY(mutex_);
  std::vector<std::string> asked_ FRESHET_GUARDED_BY(mutex_);
  std::thread thread_;
};

}  // namespace freshet

#endif  // FRESHET_TESTS_SUPPORT_SMALL_SITE_H_
