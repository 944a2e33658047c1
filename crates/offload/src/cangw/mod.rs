//! Routes as rules of can-gw, over netlink.
