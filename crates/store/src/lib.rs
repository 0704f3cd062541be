//! Run folders: write as it goes, list, open, resume.
