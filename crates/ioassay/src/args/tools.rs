//! Arguments of the commands that do one thing to a peer, a file or the page cache.

use clap::{Args, Subcommand};
use model::content::Kind;
use std::path::PathBuf;

/// What to do with peers.
#[derive(Debug, Subcommand)]
pub enum PeersCommand {
    /// Tell which there are, what each can do, and how it is built
    List(PeersArgs),
    /// Build them into the cache folder; a run builds what it needs by itself
    Build(PeersArgs),
    /// Run each over awkward small files and check every digest and count
    Verify {
        /// Which.
        #[command(flatten)]
        args: PeersArgs,
        /// Where small test files are written, and removed
        #[arg(long, value_name = "DIR", default_value = ".")]
        directory: PathBuf,
    },
}

/// Which peers.
#[derive(Debug, Args)]
pub struct PeersArgs {
    /// Their names; all if not given
    pub names: Vec<String>,
    /// A TOML file of more peers, in the form of peers/peers.toml
    #[arg(long, value_name = "FILE")]
    pub peers: Option<PathBuf>,
}

/// What to do with the page cache.
#[derive(Debug, Subcommand)]
pub enum CacheCommand {
    /// Tell how much of each file is cached
    Show {
        /// The files
        #[arg(required = true)]
        files: Vec<PathBuf>,
    },
    /// Take each file out of the page cache, with proof; needs no root
    Evict {
        /// The files
        #[arg(required = true)]
        files: Vec<PathBuf>,
    },
    /// Read each file into the page cache, with proof
    Warm {
        /// The files
        #[arg(required = true)]
        files: Vec<PathBuf>,
    },
    /// Empty the page cache of the whole machine; needs root, and slows down everybody on it
    Drop,
}

/// What to do with a test file.
#[derive(Debug, Subcommand)]
pub enum DataCommand {
    /// Write a file whose every word is known; there must be nothing of its name
    Create {
        /// The file
        file: PathBuf,
        /// Its size: 256MiB, 1GiB
        #[arg(long, default_value = "1GiB")]
        size: String,
        /// Decides its content
        #[arg(long, default_value_t = 1)]
        seed: u64,
        /// What it is made of: random words, or ints:20 for 4-byte integers below 20, all equally
        /// likely
        #[arg(long, default_value_t = Kind::Random)]
        content: Kind,
    },
    /// Check every byte of a file that `data create` wrote
    Verify {
        /// The file
        file: PathBuf,
        /// The seed it was written with
        #[arg(long, default_value_t = 1)]
        seed: u64,
        /// What it was made of: random or ints:20
        #[arg(long, default_value_t = Kind::Random)]
        content: Kind,
    },
}
