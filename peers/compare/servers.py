"""Starts the servers, one for a case, pinned to one core, on loopback and on free ports; stops them whatever happens.

A server that can say how many requests it has seen is asked before and after each turn. None is tuned beyond what a
comparison of clients needs: connections are never closed, nothing is logged.
"""

from __future__ import annotations

import contextlib
import dataclasses
import getpass
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Mapping, Sequence

from .cases import Case, Protocol, Workload
from .install import Installer, Recipe, Unavailable
from .measure import on_core

HOST = "127.0.0.1"
KEY = "k1"
READY_SECONDS = 10.0
STOP_SECONDS = 10.0


@dataclasses.dataclass(frozen=True)
class Target:
    """Where a case's server answers. `path` is the HTTP path; key-value stores hold `KEY` with the case's body.

    `pong_port` is where the same program answers `pingpong`, beside one that answers `person`. `script` is the folder of a
    brokerage's sessions.
    """

    scheme: str
    port: int
    path: str = "/"
    pong_port: int | None = None
    script: pathlib.Path | None = None

    @property
    def url(self) -> str:
        return f"{self.scheme}://{HOST}:{self.port}{self.path}"


class Server:
    """A running server. `served` is the number of requests it has seen in its life, where it can say."""

    target: Target

    def served(self) -> int | None:
        return None


@dataclasses.dataclass(frozen=True)
class Setting:
    """What servers need to be started."""

    installer: Installer
    weigh: str
    services: pathlib.Path
    folder: pathlib.Path
    core: int


# What is used of each package; openssl makes the throw-away certificate.
NGINX = Recipe("nginx", package="nginx-light")
NGHTTPD = Recipe("nghttpd", package="nghttp2-server")
REDIS = Recipe("redis-server", package="redis-server")
MEMCACHED = Recipe("memcached", package="memcached")
OPENSSL = Recipe("openssl", package="openssl")


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind((HOST, 0))
        return int(listener.getsockname()[1])


def body(size: int) -> bytes:
    """What every server answers: the text of the services' contract, so that `weigh` and its peers see one body."""
    return b"p" + b"o" * (size - 3) + b"ng"


@contextlib.contextmanager
def process(
    command: Sequence[str], setting: Setting, environment: Mapping[str, str] | None = None
) -> Iterator[subprocess.Popen[str]]:
    """A server's process, in its own session so that Ctrl-C reaches us alone and we end it in order."""
    with open(setting.folder / "server.log", "a+") as log:
        server = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            env=dict(os.environ, **(environment or {})),
            start_new_session=True,
            preexec_fn=on_core(setting.core),
        )
        try:
            yield server
        finally:
            server.send_signal(signal.SIGTERM)
            try:
                server.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                server.kill()
                server.wait()
            assert server.stdout is not None
            server.stdout.close()


def _last_words(setting: Setting) -> str:
    return " ".join((setting.folder / "server.log").read_text(errors="replace").split())[-300:] or "nothing"


def await_port(server: subprocess.Popen[str], port: int, setting: Setting) -> None:
    """Returns once the port accepts connections."""
    end = time.monotonic() + READY_SECONDS
    while time.monotonic() < end:
        if server.poll() is not None:
            raise Unavailable(f"the server ended with {server.returncode} and said: {_last_words(setting)}")
        with contextlib.suppress(OSError), socket.create_connection((HOST, port), 0.2):
            return
        time.sleep(0.02)
    raise Unavailable(f"the server did not listen within {READY_SECONDS:.0f} s and said: {_last_words(setting)}")


def await_line(server: subprocess.Popen[str], setting: Setting) -> int:
    """The port of a server that keeps the services' contract: `ready <port>`."""
    assert server.stdout is not None
    line = server.stdout.readline()
    if match := re.fullmatch(r"ready (\d+)\n", line):
        return int(match.group(1))
    server.wait(STOP_SECONDS)
    raise Unavailable(f"the server ended with {server.returncode} and said: {_last_words(setting)}")


# --- nginx -----------------------------------------------------------------------------------------------------------

_NGINX = """\
daemon off; master_process off; worker_processes 1;
pid {folder}/nginx.pid; error_log {folder}/server.log warn;
events {{ worker_connections 8192; }}
http {{
  access_log off; default_type text/plain; tcp_nodelay on;
  keepalive_requests 1000000000; keepalive_timeout 1h;
  open_file_cache max=16; open_file_cache_valid 1h; sendfile on;
  client_body_temp_path {folder}/t1; proxy_temp_path {folder}/t2; fastcgi_temp_path {folder}/t3;
  uwsgi_temp_path {folder}/t4; scgi_temp_path {folder}/t5;
  server {{ listen 127.0.0.1:{port}{options} backlog=8192; {tls} root {folder};
    location = / {{ return 200 '{small}'; }} }}
  server {{ listen 127.0.0.1:{status}; location / {{ stub_status; }} }}
}}
"""
# One suite for all, or a comparison of clients compares what they happen to ask for first.
_TLS = (
    "ssl_certificate {folder}/certificate.pem; ssl_certificate_key {folder}/key.pem; ssl_protocols TLSv1.3; "
    "ssl_conf_command Ciphersuites TLS_AES_128_GCM_SHA256;"
)


class Nginx(Server):
    """nginx counts requests itself (`stub_status`); being asked is a request too."""

    def __init__(self, target: Target, status: int) -> None:
        self.target = target
        self.status = status
        self.asked = 0

    def served(self) -> int:
        with urllib.request.urlopen(f"http://{HOST}:{self.status}/", timeout=5) as reply:
            text = reply.read().decode()
        self.asked += 1
        return parse_stub_status(text) - self.asked


def parse_stub_status(text: str) -> int:
    """Requests, the third number of the line below `server accepts handled requests`."""
    match = re.search(r"requests\s*\n\s*\d+\s+\d+\s+(\d+)", text)
    if match is None:
        raise ValueError(f"no count of requests in {text!r}")
    return int(match.group(1))


def certificate(setting: Setting) -> None:
    """A key and a certificate for loopback that live as long as the folder."""
    folder = setting.folder
    command = f"{setting.installer.have(OPENSSL)} req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2"
    names = ["-subj", "/CN=localhost", "-addext", f"subjectAltName=DNS:localhost,IP:{HOST}"]
    files = ["-keyout", str(folder / "key.pem"), "-out", str(folder / "certificate.pem")]
    subprocess.run([*command.split(), *names, *files], check=True, capture_output=True)


@contextlib.contextmanager
def nginx(case: Case, setting: Setting) -> Iterator[Server]:
    program, folder = setting.installer.have(NGINX), setting.folder
    secure = case.protocol is Protocol.HTTPS
    if secure:
        certificate(setting)
    port, status = free_port(), free_port()
    (folder / "body").write_bytes(body(case.body_bytes))
    options = {Protocol.HTTPS: " ssl", Protocol.HTTP2: " http2"}.get(case.protocol, "")
    configuration = folder / "nginx.conf"
    configuration.write_text(
        _NGINX.format(
            folder=folder,
            port=port,
            status=status,
            options=options,
            small=body(64).decode(),
            tls=_TLS.format(folder=folder) if secure else "",
        )
    )
    path = "/" if case.body_bytes == 64 else "/body"
    with process([program, "-p", str(folder), "-c", str(configuration)], setting) as server:
        await_port(server, port, setting)
        yield Nginx(Target("https" if secure else "http", port, path), status)


# --- Others ----------------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def nghttpd(case: Case, setting: Setting) -> Iterator[Server]:
    port = free_port()
    pages = setting.folder / "pages"
    pages.mkdir(exist_ok=True)
    (pages / "body").write_bytes(body(case.body_bytes))
    options = f"--no-tls -n 1 -m {max(100, case.in_flight)} --address={HOST} -d {pages} {port}"
    with process([setting.installer.have(NGHTTPD), *options.split()], setting) as running:
        await_port(running, port, setting)
        server = Server()
        server.target = Target("http", port, "/body")
        yield server


@contextlib.contextmanager
def probe(case: Case, setting: Setting) -> Iterator[Server]:
    with process([setting.weigh, "probe", "null", "--port", "0"], setting) as running:
        server = Server()
        server.target = Target("http", await_line(running, setting), f"/pong/{case.body_bytes}")
        yield server


_PATHS = {
    (Workload.PINGPONG, Protocol.GRPC): "/weighbridge.pong.v1.Pong/Pong",
    (Workload.PERSON, Protocol.GRPC): "/weighbridge.person.v1.People/GetPerson",
    (Workload.PERSON, Protocol.HTTP1): "/person/1",
}


def build(service: str, setting: Setting) -> pathlib.Path:
    """Builds a service of ours, which is quick where nothing changed; its folder."""
    command = [setting.weigh, "services", "build", service]
    built = subprocess.run(command, cwd=setting.services.parent, stdout=sys.stderr, check=False)
    if built.returncode != 0:
        raise Unavailable(f"`weigh services build {service}` ended with {built.returncode}")
    return setting.services / service


@contextlib.contextmanager
def rust(case: Case, setting: Setting) -> Iterator[Server]:
    """Our own service in Rust.

    Beside `person` another process answers `pingpong` on the same core; who is not asked sleeps.
    """
    folder = build("rust", setting)
    scheme, protocol = {Protocol.GRPC: ("grpc", "grpc"), Protocol.HTTP1: ("http", "http1-json")}[case.protocol]
    with contextlib.ExitStack() as running:

        def started(workload: Workload) -> int:
            environment = {"HOST": HOST, "PORT": "0", "PROTOCOL": protocol, "WORKLOAD": workload.value}
            if workload is Workload.PERSON:
                environment["DATA"] = str(setting.services / "person")
            command = [str(folder / "target/release/weigh-rust")]
            return await_line(running.enter_context(process(command, setting, environment)), setting)

        pong_port = started(Workload.PINGPONG) if case.workload is Workload.PERSON else None
        server = Server()
        server.target = Target(scheme, started(case.workload), _PATHS[case.workload, case.protocol], pong_port)
        yield server


@contextlib.contextmanager
def rust_trade(case: Case, setting: Setting) -> Iterator[Server]:
    """Our own brokerage in Rust, its records in its memory, and the script that its clients play."""
    del case
    folder, script = build("rust-trade", setting), setting.folder / "script"
    subprocess.run([setting.weigh, "trade", "script", "--out", str(script)], check=True, capture_output=True)
    environment = {"HOST": HOST, "PORT": "0", "PROTOCOL": "http1-json", "WORKLOAD": Workload.TRADE.value}
    environment |= {"DATABASE": "memory", "DATA": str(script)}
    with process([str(folder / "target/release/weigh-rust-trade")], setting, environment) as running:
        server = Server()
        server.target = Target("http", await_line(running, setting), "", script=script)
        yield server


class KeyValue(Server):
    """A key-value store; `counter` is what it is asked, and `pattern` finds the counts of GET and SET in the answer."""

    def __init__(self, target: Target, counter: bytes, end: bytes, pattern: str) -> None:
        self.target = target
        self.counter = counter
        self.end = end
        self.pattern = pattern

    def served(self) -> int:
        text = exchange(self.target.port, self.counter, self.end).decode()
        return sum(int(count) for count in re.findall(self.pattern, text))


def exchange(port: int, question: bytes, end: bytes) -> bytes:
    """Sends bytes and reads until the answer ends so."""
    answer = b""
    with socket.create_connection((HOST, port), 5) as connection:
        connection.sendall(question)
        while not answer.endswith(end):
            piece = connection.recv(65536)
            if not piece:
                raise ConnectionError(f"the server closed after {answer[-80:]!r}")
            answer += piece
    return answer


REDIS_COUNTS = r"cmdstat_(?:get|set):calls=(\d+)"
MEMCACHED_COUNTS = r"STAT cmd_(?:get|set) (\d+)"


@contextlib.contextmanager
def redis(case: Case, setting: Setting) -> Iterator[Server]:
    port = free_port()
    options = ["--port", str(port), "--bind", HOST, "--save", "", "--appendonly", "no", "--daemonize", "no"]
    command = [setting.installer.have(REDIS), *options, "--logfile", str(setting.folder / "server.log")]
    with process(command, setting) as running:
        await_port(running, port, setting)
        value = body(case.body_bytes)
        exchange(port, b"SET %s %s\r\n" % (KEY.encode(), value), b"+OK\r\n")
        # The bulk string ends with an empty line of its own.
        yield KeyValue(Target("redis", port), b"INFO commandstats\r\n", b"\r\n\r\n", REDIS_COUNTS)


@contextlib.contextmanager
def memcached(case: Case, setting: Setting) -> Iterator[Server]:
    port = free_port()
    options = f"-l {HOST} -p {port} -U 0 -t 1 -c 8192 -u {getpass.getuser()}"
    with process([setting.installer.have(MEMCACHED), *options.split()], setting) as running:
        await_port(running, port, setting)
        value = body(case.body_bytes)
        exchange(port, b"set %s 0 0 %d\r\n%s\r\n" % (KEY.encode(), len(value), value), b"STORED\r\n")
        yield KeyValue(Target("memcached", port), b"stats\r\n", b"END\r\n", MEMCACHED_COUNTS)


STARTS = {
    "nginx": nginx,
    "nginx-tls": nginx,
    "nginx-h2": nginx,
    "nghttpd": nghttpd,
    "probe": probe,
    "rust-grpc": rust,
    "rust-person": rust,
    "rust-trade": rust_trade,
    "redis": redis,
    "memcached": memcached,
}


def start(case: Case, setting: Setting) -> contextlib.AbstractContextManager[Server]:
    """The case's server, running until the context ends."""
    return STARTS[case.server](case, setting)
