//! The file of a trace whose requests a workload sends: unpacked and parsed row by row, before anything is started, and
//! identified by its hash.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use flate2::bufread::MultiGzDecoder;
use ruzstd::decoding::{FrameDecoder, StreamingDecoder};
use sha2::{Digest, Sha256};
use weighbridge_model::experiment::{CacheSpec, ReplaySpec};
use weighbridge_model::hex;
use weighbridge_model::trace::TraceError;
use weighbridge_workload::{Replay, ReplayParser};

/// Bytes that are read at once, and the longest row.
const PIECE: usize = 1 << 20;
const LINE_MOST: u64 = 1 << 16;

#[derive(Debug, thiserror::Error)]
pub enum ReplayFileError {
    #[error("trace `{}`: {source}; name a file of requests, relative to the experiment's folder", file.display())]
    Unreadable { file: PathBuf, source: io::Error },
    #[error("trace `{}` is another file: its SHA-256 is {found}, the experiment names {wanted}; bring the file back, or remove `sha256`", file.display())]
    Changed { file: PathBuf, wanted: String, found: String },
    #[error(transparent)]
    Trace(#[from] TraceError),
}

/// A trace that was read.
#[derive(Debug, Clone)]
pub(super) struct ReplayedFile {
    /// As the experiment names it.
    pub file: String,
    pub sha256: String,
    pub requests: Arc<Replay>,
}

/// Traces that were read, so that points that name the same share it.
#[derive(Debug, Default)]
pub(super) struct Replays(Vec<(ReplaySpec, ReplayedFile)>);

impl Replays {
    /// Reads the trace of a specification, relative to `folder`, and writes into it what was found.
    pub fn read(
        &mut self,
        spec: &mut CacheSpec,
        folder: Option<&Path>,
    ) -> Result<Option<ReplayedFile>, ReplayFileError> {
        let Some(trace) = spec.trace.clone() else { return Ok(None) };
        let known = self.0.iter().find(|(known, _)| *known == trace).map(|(_, read)| read.clone());
        let found = match known {
            Some(found) => found,
            None => {
                let found = read(&trace, folder)?;
                self.0.push((trace, found.clone()));
                found
            }
        };
        let requests = &found.requests;
        spec.set_found(requests.keys(), |operation| requests.count(operation), found.sha256.clone());
        Ok(Some(found))
    }
}

fn read(spec: &ReplaySpec, folder: Option<&Path>) -> Result<ReplayedFile, ReplayFileError> {
    let file = folder.unwrap_or(Path::new("")).join(&spec.file);
    let unreadable = |source| ReplayFileError::Unreadable { file: file.clone(), source };
    let mut hashed = Hashed { inner: File::open(&file).map_err(unreadable)?, hash: Sha256::new() };
    let mut packed = BufReader::with_capacity(PIECE, &mut hashed);
    let parsed = match file.extension().and_then(|extension| extension.to_str()) {
        Some("gz") => parse(spec, &mut BufReader::with_capacity(PIECE, MultiGzDecoder::new(&mut packed))),
        Some("zst") => parse(spec, &mut BufReader::with_capacity(PIECE, ZstdFrames::new(&mut packed))),
        _ => parse(spec, &mut packed),
    };
    let requests = parsed.map_err(|stop| match stop {
        UnreadRest::Row(error) => ReplayFileError::Trace(error),
        UnreadRest::Reading(source) => unreadable(source),
    })?;
    // What is behind the last row that was wanted belongs to the file too.
    io::copy(&mut hashed, &mut io::sink()).map_err(unreadable)?;
    let found = hex::encode(&hashed.hash.finalize());
    if let Some(wanted) = spec.sha256.clone().filter(|wanted| *wanted != found) {
        return Err(ReplayFileError::Changed { file, wanted, found });
    }
    Ok(ReplayedFile { file: spec.file.clone(), sha256: found, requests: Arc::new(requests) })
}

/// Why a file was read no further.
enum UnreadRest {
    Row(TraceError),
    Reading(io::Error),
}

fn parse(spec: &ReplaySpec, rows: &mut dyn BufRead) -> Result<Replay, UnreadRest> {
    let mut parser = ReplayParser::new(spec);
    let mut line = Vec::new();
    loop {
        line.clear();
        let mut row = Read::take(&mut *rows, LINE_MOST);
        if row.read_until(b'\n', &mut line).map_err(UnreadRest::Reading)? == 0 {
            break;
        }
        let wants_more = parser.line(&line).map_err(UnreadRest::Row)?;
        if line.len() as u64 == LINE_MOST {
            return Err(UnreadRest::Row(parser.error(format!("is longer than {LINE_MOST} B"))));
        }
        if !wants_more {
            break;
        }
    }
    parser.finish().map_err(UnreadRest::Row)
}

/// A file whose hash is made while it is read.
struct Hashed {
    inner: File,
    hash: Sha256,
}

impl Read for Hashed {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.hash.update(&buffer[..count]);
        Ok(count)
    }
}

/// The frames of a zstd file, one after another: programs that pack on several cores write many.
struct ZstdFrames<R: BufRead> {
    source: Option<R>,
    frame: Option<StreamingDecoder<R, FrameDecoder>>,
}

impl<R: BufRead> ZstdFrames<R> {
    fn new(source: R) -> Self {
        Self { source: Some(source), frame: None }
    }
}

impl<R: BufRead> Read for ZstdFrames<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            if let Some(frame) = &mut self.frame {
                let count = frame.read(buffer)?;
                if count > 0 {
                    return Ok(count);
                }
                self.source = self.frame.take().map(StreamingDecoder::into_inner);
            }
            let Some(mut source) = self.source.take() else { return Ok(0) };
            if source.fill_buf()?.is_empty() {
                return Ok(0);
            }
            let opened = StreamingDecoder::new(source);
            self.frame = Some(opened.map_err(|error| {
                io::Error::new(
                    io::ErrorKind::InvalidData,
                    format!("not packed by zstd, or damaged ({error})"),
                )
            })?);
        }
    }
}
