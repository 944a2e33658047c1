//! A CAN bus in bit time: arbitration, errors, many nodes; time is passed in.
