-- A piece of an answer costs a page on disk for each index that it stands in. Those of a step are found by their numbers.
DROP INDEX session_stream_deltas;
