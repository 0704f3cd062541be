/// The Dart service, with dart:io: configuration and life, as the contract in
/// services/README.md has it and no more. server.dart has the server; each
/// workload has its handlers in a file of its own, and its line in the table
/// below. README.md has why.
library;

import 'dart:io';

import 'ping.dart' as ping;
import 'pong.dart' as pong;
import 'server.dart';

const exitConfiguration = 2;
const exitPortInUse = 3;

/// The system's number of that error.
const portInUse = 98;

/// A workload over a protocol, and what it answers; one that relays asks PEER.
typedef Offer = ({
  String workload,
  String protocol,
  bool relays,
  List<Route> Function(String peer) routes,
});

/// All of them, the defaults first.
const List<Offer> offers = [
  (
    workload: 'pingpong',
    protocol: 'http1-json',
    relays: false,
    routes: pong.routes,
  ),
  (workload: 'ping', protocol: 'http1-json', relays: true, routes: ping.routes),
];

// Configuration

/// Where to listen, what to answer, whom to ask, and whether Nagle's algorithm
/// is the library's affair.
typedef Configuration = ({
  InternetAddress host,
  int port,
  Offer offer,
  String peer,
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

/// Reads which workload is asked for, and over which protocol.
Offer readOffer() {
  final workloads = {for (final offer in offers) offer.workload};
  final workload = oneOf('WORKLOAD', workloads.toList());
  final offered = {
    for (final offer in offers)
      if (offer.workload == workload) offer.protocol: offer,
  };
  return offered[oneOf('PROTOCOL', offered.keys.toList())]!;
}

/// Whether a text is the address of a service.
bool isPeer(String text) {
  final parts = RegExp(
    r'^(?:([0-9.]+)|\[([^\[\]]*:[^\[\]]*)\]):([0-9]+)$',
  ).firstMatch(text);
  final host = InternetAddress.tryParse(parts?[1] ?? parts?[2] ?? '');
  return host != null && (portOf(parts?[3] ?? '') ?? 0) > 0;
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
  final offer = readOffer();
  final peer = offer.relays ? variable('PEER') : '';
  if (offer.relays && !isPeer(peer)) {
    const allowed = 'host:port, such as 127.0.0.1:8080 or [::1]:8080';
    throw Refusal.of('PEER', peer, allowed);
  }
  final nagle = oneOf('NAGLE', ['off', 'default']) == 'default';
  for (final name in ['TLS_CERT', 'TLS_KEY', 'DIRECT']) {
    final value = variable(name);
    if (value.isNotEmpty) {
      throw Refusal.of(name, value, 'nothing (not supported by this service)');
    }
  }
  return (host: host, port: port, offer: offer, peer: peer, nagle: nagle);
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
  final listener = await open(configuration);
  final routes = configuration.offer.routes(configuration.peer);
  ProcessSignal.sigterm.watch().listen((_) => stop(listener));
  serve(listener, Router(routes, versionText));
  final facts = variable('RUNTIME_FACTS');
  if (facts.isNotEmpty) {
    final cores = Platform.numberOfProcessors;
    File(facts).writeAsStringSync('cores=$cores vm=$machine\n');
  }
  print('ready ${listener.port}');
  await stdout.flush();
}

/// Opens the listener.
Future<HttpServer> open(Configuration configuration) async {
  final (:host, :port, offer: _, peer: _, nagle: _) = configuration;
  try {
    return await listen(host, port);
  } on SocketException catch (error) {
    final where = '`PORT` $port on `HOST` ${host.address}';
    if (error.osError?.errorCode == portInUse) {
      throw Refusal(exitPortInUse, '$where is in use, choose another');
    }
    final cause = error.osError?.message ?? error.message;
    throw Refusal(exitConfiguration, '$where cannot be used: $cause');
  }
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
