/// The workload ping: passes requests on to a peer with dart:io's HttpClient.
library;

import 'dart:convert';
import 'dart:io';
import 'dart:typed_data';

import 'pong.dart';

/// How often a request is repeated where its connection ended before the reply.
const mostRetries = 3;

/// A reply that came whole, how often it was asked for again, and how long that
/// took in all, in ns.
typedef Answer = ({int status, Uint8List body, int retries, int duration});

/// Answers by asking a peer.
class Ping {
  /// Reads PEER.
  Ping(this.peer) {
    final parts = RegExp(
      r'^(?:([0-9.]+)|\[([^\[\]]*:[^\[\]]*)\]):([0-9]+)$',
    ).firstMatch(peer);
    final host = InternetAddress.tryParse(parts?[1] ?? parts?[2] ?? '');
    final port = portOf(parts?[3] ?? '') ?? 0;
    if (host == null || port == 0) {
      const allowed = 'host:port, such as 127.0.0.1:8080 or [::1]:8080';
      throw Refusal.of('PEER', peer, allowed);
    }
  }

  /// The peer as the environment names it.
  final String peer;

  final _client = HttpClient()
    ..findProxy = null
    ..autoUncompress = false
    ..idleTimeout = const Duration(days: 365);

  /// What is answered at which folder.
  Map<String, SizedHandler> get handlers => {'/ping/': ping, '/mping/': mping};

  // Handlers

  /// Answers GET /ping/{n}: the body as it came from the peer.
  Future<void> ping(HttpRequest request, int size) async {
    final answer = await _ask(size);
    if (answer == null) {
      await noReply(request);
    } else if (answer.status == 200) {
      await reply(request, 200, ContentType('text', 'plain'), answer.body);
    } else {
      final text = 'the peer answered with status ${answer.status}';
      await problem(request, 502, text);
    }
  }

  /// Answers GET /mping/{n}: how asking the peer went.
  Future<void> mping(HttpRequest request, int size) async {
    final answer = await _ask(size);
    if (answer == null) {
      await noReply(request);
      return;
    }
    final body = jsonEncode({
      'duration_ns': answer.duration,
      'length': answer.body.length,
      'code': answer.status,
      'retries': answer.retries,
    });
    final type = ContentType('application', 'json');
    await reply(request, 200, type, utf8.encode(body));
  }

  /// Answers where the peer is not there, or went away within its reply.
  Future<void> noReply(HttpRequest request) =>
      problem(request, 502, 'no whole reply came from the peer $peer');

  // Client

  /// Asks the peer and reads the reply to its end; null where none came whole.
  Future<Answer?> _ask(int size) async {
    final url = Uri.parse('http://$peer/pong/$size');
    final time = Stopwatch()..start();
    for (var retries = 0; ; retries++) {
      var isAwaited = false;
      try {
        final request = await _client.getUrl(url);
        request.followRedirects = false;
        request.headers.removeAll(HttpHeaders.acceptEncodingHeader);
        isAwaited = true;
        final response = await request.close();
        isAwaited = false;
        final builder = BytesBuilder(copy: false);
        await response.forEach(builder.add);
        final body = builder.takeBytes();
        final duration = time.elapsedTicks * (1000000000 ~/ time.frequency);
        final status = response.statusCode;
        return (
          status: status,
          body: body,
          retries: retries,
          duration: duration,
        );
      } on IOException {
        if (!isAwaited || retries == mostRetries) return null;
      }
    }
  }
}
