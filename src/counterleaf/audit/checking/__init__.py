"""The proofs of an audit: kept, or checked for a sample of rows."""
