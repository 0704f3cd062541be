// The workload cache over HTTP.
#include "cache_http.hpp"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <sstream>
#include <utility>

namespace {

constexpr const char *bytes = "application/octet-stream";

/// Answers requests from one cache.
class CacheHandlers {
 public:
  explicit CacheHandlers(const CacheSettings &settings) : cache_(settings) {}

  void get_value(const httplib::Request &request, httplib::Response &response);
  void put_body(const httplib::Request &request, httplib::Response &response);
  void put_path(const httplib::Request &request, httplib::Response &response);
  void delete_value(const httplib::Request &request, httplib::Response &response);
  void memsize(const httplib::Request &request, httplib::Response &response);
  void reset(const httplib::Request &request, httplib::Response &response);
  void shutdown(const httplib::Request &request, httplib::Response &response);

 private:
  void put_value(const std::string &key, std::string value, httplib::Response &response);

  Cache cache_;
};

// Requests

/// The decoded key of a path; where there is none, that is said in the reply.
std::optional<std::string> key_of(const httplib::Request &request, httplib::Response &response) {
  auto key = parameter(request);
  if (key && !key->empty()) return key;
  problem(response, 400, "the key is empty, or the path has a broken escape");
  return {};
}

/// Whether the value alone is asked for, instead of JSON.
bool wants_bytes(const httplib::Request &request) {
  std::istringstream ranges(request.get_header_value("Accept"));
  for (std::string range; std::getline(ranges, range, ',');) {
    range.erase(std::min(range.find(';'), range.size()));
    const auto begin = range.find_first_not_of(' ');
    const auto end = range.find_last_not_of(' ');
    if (begin == std::string::npos) continue;
    if (strcasecmp(range.substr(begin, end - begin + 1).c_str(), bytes) == 0) return true;
  }
  return false;
}

// JSON

/// The length of the character of UTF-8 that begins at a byte; 0 where none does.
size_t character_length(const std::string &text, size_t at) {
  const auto byte = [&](size_t index) {
    return index < text.size() ? static_cast<unsigned char>(text[index]) : 0;
  };
  const unsigned first = byte(at);
  if (first < 0x80) return 1;
  const size_t length = first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf5 ? 4 : 0;
  for (size_t index = 1; index < length; ++index) {
    if ((byte(at + index) & 0xc0) != 0x80) return 0;
  }
  const unsigned second = byte(at + 1);
  // Longer than need be, a half of UTF-16, or beyond the last character.
  const bool is_wrong = (first == 0xe0 && second < 0xa0) || (first == 0xed && second > 0x9f) ||
                        (first == 0xf0 && second < 0x90) || (first == 0xf4 && second > 0x8f);
  return is_wrong ? 0 : length;
}

/// A text in JSON; none where it is not UTF-8.
std::optional<std::string> json_of(const std::string &text) {
  constexpr const char *digits = "0123456789abcdef";
  std::string json = "\"";
  for (size_t at = 0; at < text.size();) {
    const auto length = character_length(text, at);
    const auto byte = static_cast<unsigned char>(text[at]);
    if (length == 0) return {};
    if (byte == '"' || byte == '\\') {
      json += {'\\', text[at]};
    } else if (byte < 0x20) {
      json += "\\u00";
      json += {digits[byte >> 4], digits[byte & 15]};
    } else {
      json.append(text, at, length);
    }
    at += length;
  }
  return json + '"';
}

// Handlers

/// Answers GET /key/{k}.
void CacheHandlers::get_value(const httplib::Request &request, httplib::Response &response) {
  const auto key = key_of(request, response);
  if (!key) return;
  const auto value = cache_.get(*key);
  if (!value) return problem(response, 404, "there is no value under this key");
  if (wants_bytes(request)) return reply(response, 200, bytes, *value);
  const auto key_json = json_of(*key), value_json = json_of(*value);
  if (!key_json || !value_json) {
    return problem(
        response, 406,
        "key or value is not UTF-8, so it has no JSON; ask with `Accept: application/octet-stream`");
  }
  reply(response, 200, "application/json", "{\"key\":" + *key_json + ",\"value\":" + *value_json + "}");
}

/// Answers PUT /key/{k} with the value as its body.
void CacheHandlers::put_body(const httplib::Request &request, httplib::Response &response) {
  if (const auto key = key_of(request, response)) put_value(*key, request.body, response);
}

/// Answers PUT /key/{k}/{v}.
void CacheHandlers::put_path(const httplib::Request &request, httplib::Response &response) {
  const auto key = key_of(request, response);
  auto value = parameter(request, 1);
  if (key && value) return put_value(*key, std::move(*value), response);
  problem(response, 400, "the key is empty, or the path has a broken escape");
}

/// Answers DELETE /key/{k}.
void CacheHandlers::delete_value(const httplib::Request &request, httplib::Response &response) {
  const auto key = key_of(request, response);
  if (!key) return;
  if (!cache_.remove(*key)) return problem(response, 404, "there is no value under this key");
  response.status = 200;
}

/// Answers GET /memsize.
void CacheHandlers::memsize(const httplib::Request &, httplib::Response &response) {
  const auto size = cache_.size();
  reply(response, 200, "application/json",
        "{\"memused\":" + std::to_string(size.used) + ",\"items\":" + std::to_string(size.items) +
            ",\"evictions\":" + std::to_string(size.evictions) + ",\"limit\":" + std::to_string(size.limit) +
            "}");
}

/// Answers POST /reset.
void CacheHandlers::reset(const httplib::Request &, httplib::Response &response) {
  cache_.reset();
  response.status = 204;
}

/// Answers POST /shutdown: the end that SIGTERM asks for.
void CacheHandlers::shutdown(const httplib::Request &, httplib::Response &response) {
  kill(getpid(), SIGTERM);
  response.status = 202;
}

void CacheHandlers::put_value(const std::string &key, std::string value, httplib::Response &response) {
  switch (cache_.put(key, std::move(value))) {
    case Cache::Put::created:
      response.status = 201;
      return;
    case Cache::Put::replaced:
      response.status = 200;
      return;
    case Cache::Put::too_large:
      return problem(response, 413, "the value is larger than the limit");
    case Cache::Put::full:
      return problem(response, 507, "the value does not fit, and nothing is evicted");
  }
}

}  // namespace

std::vector<Route> cache_routes(const CacheSettings &settings) {
  const auto handlers = std::make_shared<CacheHandlers>(settings);
  const auto by = [&](auto handler) {
    return [handlers, handler](const httplib::Request &request, httplib::Response &response) {
      ((*handlers).*handler)(request, response);
    };
  };
  return {
      {"GET", "/key/{k}", by(&CacheHandlers::get_value)},
      {"PUT", "/key/{k}", by(&CacheHandlers::put_body)},
      {"DELETE", "/key/{k}", by(&CacheHandlers::delete_value)},
      {"PUT", "/key/{k}/{v}", by(&CacheHandlers::put_path)},
      {"GET", "/memsize", by(&CacheHandlers::memsize)},
      {"POST", "/reset", by(&CacheHandlers::reset)},
      {"POST", "/shutdown", by(&CacheHandlers::shutdown)},
  };
}
