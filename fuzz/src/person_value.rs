//! Values of the workload `person` in every codec: bytes are refused, or are a value that reads back the same from the bytes
//! that our own encoder makes of it.

use weighbridge_workload::fuzzing::reads_back;

/// Reads `data` as links of persons, in each codec.
pub fn check(data: &[u8]) {
    reads_back(data);
}
