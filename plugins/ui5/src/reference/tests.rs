//! From the CDN to the answer, natively.
