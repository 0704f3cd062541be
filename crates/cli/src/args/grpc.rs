//! Flags of `weigh load` that turn the request into a gRPC call.

use std::path::PathBuf;

use clap::Args;
use weighbridge_model::quantity::Nanoseconds;

/// A call over gRPC.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "gRPC")]
pub struct Grpc {
    /// Call this method, `package.Service/Method`; a URL `grpc://host:port/package.Service/Method` says the same.
    #[arg(long = "grpc", value_name = "METHOD", hide_short_help = true)]
    pub call: Option<String>,
    /// File that describes the method.
    #[arg(long, value_name = "FILE", conflicts_with = "reflection", hide_short_help = true)]
    pub proto: Option<PathBuf>,
    /// Folder in which the file's imports are sought.
    #[arg(short = 'I', long, value_name = "DIR", requires = "proto", hide_short_help = true)]
    pub include: Vec<PathBuf>,
    /// Ask the server to describe the method (the first server, of several).
    #[arg(long, hide_short_help = true)]
    pub reflection: bool,
    /// The message as JSON; for a stream a list of messages [default: `{}`].
    #[arg(long, value_name = "JSON", hide_short_help = true)]
    pub data: Option<String>,
    /// Send each message of a stream after the reply to the one before, instead of all at once.
    #[arg(long, requires = "data", hide_short_help = true)]
    pub alternating: bool,
    /// Metadata, `name: value`; a value `env:NAME` is read from the environment.
    #[arg(long, value_name = "METADATA", hide_short_help = true)]
    pub metadata: Vec<String>,
    /// What the server is told to keep to (`grpc-timeout`); --timeout holds beside it.
    #[arg(long, value_name = "TIME", hide_short_help = true)]
    pub deadline: Option<Nanoseconds>,
}
