// What the server of cpp-httplib lacks: pipelining, connections without limits, and an end at once.
#pragma once

#include <httplib.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <functional>
#include <limits>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>

/// A connection with a buffer of its own: the library's has one per request, and forgets pipelined ones with
/// it.
class Connection final : public httplib::Stream {
 public:
  explicit Connection(socket_t socket) : socket_(socket) {}

  bool is_readable() const override { return true; }
  bool is_writable() const override { return true; }
  socket_t socket() const override { return socket_; }

  ssize_t read(char *to, size_t size) override {
    if (begin_ == end_ && !receive()) return 0;
    const auto length = std::min(size, end_ - begin_);
    std::memcpy(to, buffer_.data() + begin_, length);
    begin_ += length;
    return static_cast<ssize_t>(length);
  }

  ssize_t write(const char *from, size_t size) override { return send(socket_, from, size, MSG_NOSIGNAL); }

  void get_remote_ip_and_port(std::string &ip, int &port) const override { name(getpeername, ip, port); }
  void get_local_ip_and_port(std::string &ip, int &port) const override { name(getsockname, ip, port); }

  /// Waits for a request; false where none comes any more.
  bool wait() { return begin_ < end_ || receive(); }

 private:
  bool receive() {
    const auto received = recv(socket_, buffer_.data(), buffer_.size(), 0);
    begin_ = 0;
    end_ = received > 0 ? static_cast<size_t>(received) : 0;
    return received > 0;
  }

  /// As the library does for each request.
  template <typename Ask>
  void name(Ask ask, std::string &ip, int &port) const {
    sockaddr_storage address{};
    socklen_t length = sizeof(address);
    std::array<char, NI_MAXHOST> host{};
    std::array<char, NI_MAXSERV> service{};
    auto *const plain = reinterpret_cast<sockaddr *>(&address);
    if (ask(socket_, plain, &length) == 0 &&
        getnameinfo(plain, length, host.data(), host.size(), service.data(), service.size(),
                    NI_NUMERICHOST | NI_NUMERICSERV) == 0) {
      ip = host.data();
      port = std::stoi(service.data());
    }
  }

  const socket_t socket_;
  std::array<char, 4096> buffer_;
  size_t begin_ = 0, end_ = 0;
};

/// A thread for each connection: the library's pool serves as many connections as it has threads, and others
/// never.
class ThreadPerConnection final : public httplib::TaskQueue {
 public:
  void enqueue(std::function<void()> serve) override {
    const std::lock_guard lock(mutex_);
    ++running_;
    std::thread([this, serve = std::move(serve)] {
      serve();
      const std::lock_guard lock(mutex_);
      --running_;
      ended_.notify_all();
    }).detach();
  }

  void shutdown() override {
    std::unique_lock lock(mutex_);
    ended_.wait(lock, [this] { return running_ == 0; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable ended_;
  size_t running_ = 0;
};

/// The library's server with the connections' policy of the contract.
class Service final : public httplib::Server {
 public:
  explicit Service(bool nagle_off) {
    if (nagle_off) set_tcp_nodelay(true);
    // The library's reading and writing end after 5 s.
    set_read_timeout(0);
    set_write_timeout(0);
    // Connections live as long as they like; this is what the header Keep-Alive says.
    set_keep_alive_timeout(315'360'000);
    set_keep_alive_max_count(std::numeric_limits<int>::max());
    // The library sets SO_REUSEPORT too, which would let a second service take the same port.
    set_socket_options([this](socket_t socket) {
      const int on = 1;
      setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
      listener_ = socket;
    });
    new_task_queue = [] { return new ThreadPerConnection; };
    // The library gives every reply without a body this header; HTTP forbids it here.
    set_post_routing_handler([](const httplib::Request &, httplib::Response &response) {
      if (response.status == 204) response.headers.erase("Content-Length");
    });
  }

  /// Opens the listener; returns its port, or -1 and errno.
  int open(const std::string &host, int port) {
    const int opened = port == 0 ? bind_to_any_port(host) : bind_to_port(host, port) ? port : -1;
    // The library's queue of connections that are not yet accepted holds 5.
    if (opened > 0) listen_again();
    return opened;
  }

  /// Takes nothing new; each connection ends behind the reply at work.
  void finish() {
    finishing_ = true;
    while (!is_running()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    stop();
    const std::lock_guard lock(mutex_);
    for (const auto socket : open_) ::shutdown(socket, SHUT_RD);
  }

 private:
  void listen_again() const { ::listen(listener_, SOMAXCONN); }

  bool process_and_close_socket(socket_t socket) override {
    enter(socket);
    Connection connection(socket);
    bool last = false, closed = false, answered = true;
    while (answered && !closed && !last && connection.wait()) {
      last = finishing_;
      answered = process_request(connection, last, closed, prepare);
    }
    leave(socket);
    return answered;
  }

  /// Before a request is routed.
  static void prepare(httplib::Request &request) {
    // Without the header there is no compression.
    request.headers.erase("Accept-Encoding");
    // Without this one a body is taken as it is, not as a form.
    request.headers.erase("Content-Type");
    // Where nothing says how long a body is, there is none; the library would read until the connection ends.
    if (!request.has_header("Content-Length") && !request.has_header("Transfer-Encoding")) {
      request.set_header("Content-Length", "0");
    }
    // As it was sent: decoded, an escaped slash would part segments.
    request.path = request.target.substr(0, request.target.find('?'));
  }

  void enter(socket_t socket) {
    const std::lock_guard lock(mutex_);
    open_.insert(socket);
    if (finishing_) ::shutdown(socket, SHUT_RD);
  }

  void leave(socket_t socket) {
    const std::lock_guard lock(mutex_);
    open_.erase(socket);
    ::shutdown(socket, SHUT_RDWR);
    close(socket);
  }

  socket_t listener_ = INVALID_SOCKET;
  std::atomic<bool> finishing_{false};
  std::mutex mutex_;
  std::set<socket_t> open_;
};
