"""What settings of the host that programs run under cost or change, measured one by one; see ../trust/README.md."""
