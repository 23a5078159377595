//! YAML and JSON as a tree that knows line and column.
