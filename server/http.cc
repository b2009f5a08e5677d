#include "server/http.h"

#include <thread>
#include <utility>

#include "httplib.h"
#include "server/config.h"
#include "server/ops_page.h"

namespace freshet {
namespace {

constexpr size_t kMaxBodyBytes = 16 << 10;
// A connection occupies a thread until its request is whole: so many slow clients do not keep a
// prober or a scraper from its answer, and more of them do so for a few seconds only.
constexpr size_t kThreads = 32;
constexpr int kTimeoutSeconds = 2;

// `problem` is empty when all is well.
void Answer(const std::string& problem, httplib::Response& response) {
  response.status = problem.empty() ? 200 : 503;
  response.set_content((problem.empty() ? "ok" : problem) + "\n", "text/plain");
}

}  // namespace

class HttpServer::Impl {
 public:
  explicit Impl(HttpContent content) : content_(std::move(content)) {
    server_.new_task_queue = [] { return new httplib::ThreadPool(kThreads); };
    server_.set_payload_max_length(kMaxBodyBytes);
    server_.set_read_timeout(kTimeoutSeconds);
    server_.set_write_timeout(kTimeoutSeconds);
    server_.set_keep_alive_timeout(kTimeoutSeconds);
    AddRoutes();
  }

  StatusOr<int> Start(const std::string& address) {
    ASSIGN_OR_RETURN(const HostPort where, ParseHostPort(address));
    int port = where.port;
    if (port == 0) {
      port = server_.bind_to_any_port(where.host.c_str());
    } else if (!server_.bind_to_port(where.host.c_str(), port)) {
      port = -1;
    }
    if (port <= 0) {
      return MakeStatus(absl::StatusCode::kUnavailable, "http_listen: cannot listen at {}",
                        address);
    }
    thread_ = std::thread([this] { server_.listen_after_bind(); });
    return port;
  }

  void Stop() {
    if (!thread_.joinable()) return;
    // Before it runs, httplib would not notice.
    while (!server_.is_running()) std::this_thread::yield();
    server_.stop();
    thread_.join();
  }

 private:
  void AddRoutes() {
    server_.Get("/", [](const httplib::Request&, httplib::Response& response) {
      response.set_content(std::string(OpsPage()), "text/html; charset=utf-8");
    });
    server_.Get("/metrics", [this](const httplib::Request&, httplib::Response& response) {
      response.set_content(content_.metrics(), "text/plain; version=0.0.4; charset=utf-8");
    });
    server_.Get("/status.json", [this](const httplib::Request&, httplib::Response& response) {
      response.set_header("Cache-Control", "no-store");
      response.set_content(content_.status_json(), "application/json");
    });
    server_.Get("/healthz", [this](const httplib::Request&, httplib::Response& response) {
      Answer(content_.healthy() ? "" : "the store has failed", response);
    });
    server_.Get("/readyz", [this](const httplib::Request&, httplib::Response& response) {
      Answer(content_.not_ready(), response);
    });
    server_.Post("/annotations",
                 [this](const httplib::Request& request, httplib::Response& response) {
                   if (!IsLoopback(request.remote_addr)) {
                     response.status = 403;
                     response.set_content("only from this machine\n", "text/plain");
                     return;
                   }
                   const Status status = content_.annotate(request.body);
                   response.status = status.ok() ? 204 : 400;
                   if (!status.ok())
                     response.set_content(std::string(status.message()) + "\n", "text/plain");
                 });
  }

  HttpContent content_;
  httplib::Server server_;
  std::thread thread_;
};

HttpServer::HttpServer(HttpContent content) : impl_(std::make_unique<Impl>(std::move(content))) {}
HttpServer::~HttpServer() { Stop(); }
StatusOr<int> HttpServer::Start(const std::string& address) { return impl_->Start(address); }
void HttpServer::Stop() { impl_->Stop(); }

bool IsLoopback(const std::string& address) {
  return address.rfind("127.", 0) == 0 || address == "::1" || address.rfind("::ffff:127.", 0) == 0;
}

}  // namespace freshet
