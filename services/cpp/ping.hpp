// The workload ping over HTTP.
#pragma once

#include <string>
#include <vector>

#include "server.hpp"

/// The paths of the workload, with one pool of connections to the peer for all.
std::vector<Route> ping_routes(const std::string &host, int port);
