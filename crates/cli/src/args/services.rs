//! Arguments of `weigh services`.

use clap::{Args, Subcommand};

/// Arguments of `weigh services`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  weigh services list
  weigh services start rust --port 8080
  weigh services start scala --workload person --protocol grpc-avro
  weigh services demo scala --protocol grpc-avro")]
pub struct Services {
    /// What to do with them.
    #[command(subcommand)]
    pub action: ServicesAction,
}

/// What to do with services.
#[derive(Debug, Subcommand)]
pub enum ServicesAction {
    /// Name, language, whether it can run here, and its version, asked from the running service: each that is built is
    /// started for a moment.
    List {
        /// Format: text or json.
        #[arg(long, default_value = "text", value_name = "FORMAT")]
        format: weighbridge_report::Format,
        /// Start none: ask their programs by `--version`.
        #[arg(long)]
        no_start: bool,
    },
    /// Build services; all available ones without a name.
    Build {
        /// Names of services.
        names: Vec<String>,
    },
    /// Start one service in the foreground until Ctrl-C.
    Start {
        /// Its name.
        name: String,
        /// Its workload, with the data that comes with the services [default: its first].
        #[arg(long, value_name = "NAME")]
        workload: Option<String>,
        /// Its protocol, such as http1-json or grpc-avro [default: the workload's first].
        #[arg(long, value_name = "NAME")]
        protocol: Option<String>,
        /// Address on which it listens.
        #[arg(long, value_name = "IP", default_value = "127.0.0.1")]
        host: std::net::IpAddr,
        /// Let it listen on an address that is not loopback: who reaches that can use it.
        #[arg(long)]
        allow_remote: bool,
        /// Port; 0 for any free one.
        #[arg(long, default_value_t = 8080)]
        port: u16,
        /// Serve `https://` with a certificate made for this one life; its authority's file is named.
        #[arg(long)]
        tls: bool,
    },
    /// Show what a service of persons answers: eight calls, read by weigh and, where the service has one for the protocol, by
    /// its own language's client.
    Demo {
        /// A service, or the URL of a server that keeps the contract of `person`.
        #[arg(value_name = "SERVICE|URL")]
        target: String,
        /// Its protocol, such as http1-json or grpc-avro [default: the first over which it offers persons].
        #[arg(long, value_name = "NAME")]
        protocol: Option<String>,
    },
    /// End services that dead runs left behind (the same as `doctor --clean`).
    Stop,
}
