//! Measuring on several hosts: an agent on each, and a coordinator that gives them orders.
//!
//! An agent is this program again, `ioassay agent`, which a launcher starts on a host. It speaks
//! lines on its stdin and stdout ([`model::agent`]), listens on no port, and ends when they close.
//! If one command starts all agents, their stdin and stdout lead nowhere: then each connects back
//! to the coordinator, which listens until all have come. Evidence is collected by the agent, where
//! the bytes move.

pub mod offset;
mod orders;
mod link;
mod part;
pub mod agent;
mod watch;
pub mod remote;
pub mod listening;
pub mod mark;
pub mod token;
pub mod join;
mod agent_port;
mod launched;
mod address;
pub mod pulse;
pub mod access;
pub mod check;
pub mod meeting;
pub mod interrupted;
pub mod late;
pub mod member;
mod turn;
mod looks;
pub mod view;
pub mod lockstep;
