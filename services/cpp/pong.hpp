// The workload pingpong over HTTP.
#pragma once

#include <httplib.h>

#include <optional>
#include <vector>

#include "server.hpp"

/// The paths of the workload.
std::vector<Route> pong_routes();

/// The size that the path names; where it is none that is allowed, that is said in the reply.
std::optional<size_t> size_of(const httplib::Request &request, httplib::Response &response);
