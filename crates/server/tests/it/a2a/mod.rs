//! Every workspace as an A2A agent, over HTTP. What the official clients make of it is in `a2a_clients`.

mod agent;
mod bad_input;
mod cards;
mod conformance;
mod pushes;
mod streams;
mod tasks;
