-- A piece of an answer costs a page on disk for each index that it stands in, unless new ones stand side by side there, as they do
-- by time. Pieces are removed in that order, when their step is closed.
DROP INDEX session_stream_deltas;
CREATE INDEX session_stream_pieces ON session_stream (at) WHERE is_delta;
