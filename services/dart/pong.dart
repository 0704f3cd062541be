/// The Dart service: pingpong, and ping (ping.dart), over http1-json with
/// dart:io, as the contract in services/README.md has it and no more.
/// README.md has why.
library;

import 'dart:async';
import 'dart:convert';
import 'dart:io';
import 'dart:typed_data';

import 'ping.dart';

/// Sizes of a body that the contract allows, in bytes.
const smallestBody = 4;
const largestBody = 100000000;

/// How long outstanding requests may take after SIGTERM; the contract allows
/// 5 s in all.
const grace = Duration(seconds: 4);

/// How often is looked whether they are done.
const look = Duration(milliseconds: 10);

const exitConfiguration = 2;
const exitPortInUse = 3;

/// The system's number of that error.
const portInUse = 98;

// Configuration

/// Answers a path that ends with a size, which is right.
typedef SizedHandler = Future<void> Function(HttpRequest request, int size);

/// Where to listen, what to answer at which folder, and whether Nagle's
/// algorithm is the library's affair.
typedef Configuration = ({
  InternetAddress host,
  int port,
  Map<String, SizedHandler> handlers,
  bool nagle,
});

/// What ends the process before it listens. The message is the line for
/// stderr.
class Refusal implements Exception {
  Refusal(this.code, this.message);

  Refusal.of(String name, String value, String allowed)
    : this(exitConfiguration, '`$name` is "$value", allowed: $allowed');

  final int code;
  final String message;
}

/// A variable's value; set to the empty text counts as unset.
String variable(String name, [String byDefault = '']) {
  final text = Platform.environment[name] ?? '';
  return text.isEmpty ? byDefault : text;
}

/// A variable that takes one of these words, by default the first.
String oneOf(String name, List<String> words) {
  final word = variable(name, words.first);
  if (!words.contains(word)) {
    throw Refusal.of(name, word, words.map((word) => '`$word`').join(', '));
  }
  return word;
}

/// A port in digits; null where it is none.
int? portOf(String text) {
  final isNumber = RegExp(r'^[0-9]{1,9}$').hasMatch(text);
  final port = isNumber ? int.parse(text) : 65536;
  return port <= 65535 ? port : null;
}

/// Reads the environment.
Configuration readConfiguration() {
  final hostText = variable('HOST', '127.0.0.1');
  final host = InternetAddress.tryParse(hostText);
  if (host == null) throw Refusal.of('HOST', hostText, 'an IP address');
  final portText = variable('PORT', '8080');
  final port = portOf(portText);
  if (port == null) throw Refusal.of('PORT', portText, '0 to 65535');
  final relays = oneOf('WORKLOAD', ['pingpong', 'ping']) == 'ping';
  oneOf('PROTOCOL', ['http1-json']);
  final handlers = relays ? Ping(variable('PEER')).handlers : {'/pong/': pong};
  final nagle = oneOf('NAGLE', ['off', 'default']) == 'default';
  for (final name in ['TLS_CERT', 'TLS_KEY', 'DIRECT']) {
    final value = variable(name);
    if (value.isNotEmpty) {
      throw Refusal.of(name, value, 'nothing (not supported by this service)');
    }
  }
  return (host: host, port: port, handlers: handlers, nagle: nagle);
}

// Handlers

/// Answers GET /pong/{n} with p, size - 3 times o, ng. The body is made anew
/// for each request.
Future<void> pong(HttpRequest request, int size) {
  final body = Uint8List(size)..fillRange(0, size, 0x6f);
  body[0] = 0x70;
  body[size - 2] = 0x6e;
  body[size - 1] = 0x67;
  return reply(request, 200, ContentType('text', 'plain'), body);
}

/// Answers GET /version.
Future<void> version(HttpRequest request) =>
    reply(request, 200, ContentType('text', 'plain'), utf8.encode(versionText));

/// Answers every path that the contract does not name.
Future<void> notFound(HttpRequest request) =>
    problem(request, 404, 'there is nothing at this path');

/// Answers every method but GET and HEAD on a known path.
Future<void> methodNotAllowed(HttpRequest request) {
  request.response.headers.set(HttpHeaders.allowHeader, 'GET, HEAD');
  return problem(request, 405, 'allowed here: GET and HEAD');
}

/// Replies with what was wrong, in JSON.
Future<void> problem(HttpRequest request, int status, String text) {
  final body = utf8.encode(jsonEncode({'error': text}));
  return reply(request, status, ContentType('application', 'json'), body);
}

/// Writes a whole reply with its length.
Future<void> reply(
  HttpRequest request,
  int status,
  ContentType type,
  Uint8List body,
) async {
  final response = request.response;
  response.statusCode = status;
  response.headers.contentType = type;
  response.contentLength = body.length;
  if (request.method != 'HEAD') response.add(body);
  await response.close();
}

// Server

/// Finds the handler.
Future<void> route(
  HttpRequest request,
  Map<String, SizedHandler> handlers,
) async {
  // Escapes of letters and digits are decoded, that of a slash is not.
  final path = request.uri.path;
  final name = path.lastIndexOf('/') + 1;
  final handler = handlers[path.substring(0, name)];
  if (handler == null && path != '/version') {
    await notFound(request);
  } else if (request.method != 'GET' && request.method != 'HEAD') {
    await methodNotAllowed(request);
  } else if (handler == null) {
    await version(request);
  } else {
    final text = path.substring(name);
    final isNumber = RegExp(r'^[1-9][0-9]{0,8}$').hasMatch(text);
    final size = isNumber ? int.parse(text) : 0;
    if (size >= smallestBody && size <= largestBody) {
      await handler(request, size);
    } else {
      const allowed = 'a whole number from $smallestBody to $largestBody';
      await problem(request, 400, 'the size must be $allowed');
    }
  }
}

/// Opens the listener. The library turns Nagle's algorithm off by itself.
Future<HttpServer> listen(Configuration configuration) async {
  final (:host, :port, handlers: _, nagle: _) = configuration;
  try {
    final server = await HttpServer.bind(host, port, v6Only: true);
    server.idleTimeout = null;
    return server;
  } on SocketException catch (error) {
    final where = '`PORT` $port on `HOST` ${host.address}';
    if (error.osError?.errorCode == portInUse) {
      throw Refusal(exitPortInUse, '$where is in use, choose another');
    }
    final cause = error.osError?.message ?? error.message;
    throw Refusal(exitConfiguration, '$where cannot be used: $cause');
  }
}

/// Answers requests; one whose client is gone is nobody's trouble.
void serve(HttpServer server, Map<String, SizedHandler> handlers) {
  server.listen((request) {
    route(
      request,
      handlers,
    ).catchError((Object gone) {}, test: (error) => error is IOException);
  });
}

/// Answers what was begun with and ends the process.
Future<void> stop(HttpServer server) async {
  await server.close();
  final time = Stopwatch()..start();
  while (server.connectionsInfo().total > 0 && time.elapsed < grace) {
    await Future<void>.delayed(look);
  }
  exit(0);
}

// Main

Future<void> main(List<String> arguments) async {
  try {
    if (arguments.isEmpty) {
      await run();
    } else if (arguments.length == 1 && arguments.first == '--version') {
      print(versionText);
    } else {
      final argument = 'argument "${arguments.first}"';
      throw Refusal(exitConfiguration, '$argument, allowed: `--version` alone');
    }
  } on Refusal catch (refusal) {
    stderr.writeln(refusal.message);
    exitCode = refusal.code;
  }
}

/// Configures, listens, says so, serves.
Future<void> run() async {
  final configuration = readConfiguration();
  final server = await listen(configuration);
  ProcessSignal.sigterm.watch().listen((_) => stop(server));
  serve(server, configuration.handlers);
  final facts = variable('RUNTIME_FACTS');
  if (facts.isNotEmpty) {
    final cores = Platform.numberOfProcessors;
    File(facts).writeAsStringSync('cores=$cores vm=$machine\n');
  }
  print('ready ${server.port}');
  await stdout.flush();
}

/// What --version and /version answer. dart:io is part of the run-time and
/// bears its version; the VM for this processor of 32 bits knows no other way
/// than to compile while it runs.
final versionText = () {
  final release = Platform.version.split(' ').first;
  return 'Dart $release-$machine dart:io $release';
}();

/// The processor that the VM is for, and how it runs programs there.
final machine = '${Platform.version.split('_').last.replaceAll('"', '')}-jit';
