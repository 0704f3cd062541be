//! Summaries in, bytes out: terminal tables, charts, HTML, JSON, CSV, Markdown.
