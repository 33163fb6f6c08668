//! Writes a file in one of six ways: `write_six_ways WAY MIB [INPUT]`, to `out`.
//!
//! Only the first forgets to sync, and calls that a rate all the same.

use std::fs::{self, File};
use std::io::{BufWriter, Read, Result, Write};
use std::time::Instant;

/// A large chunk.
const CHUNK: usize = 8 << 20;

fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().collect();
    let mib: usize = args[2].parse().expect("the size is a number of MiB");
    let data = vec![0xab; mib << 20];
    let began = Instant::now();
    match args[1].as_str() {
        "no-sync" => fs::write("out", &data)?,
        "sync" => in_chunks(&data, data.len())?,
        "buffered" => {
            let mut file = BufWriter::new(File::create("out")?);
            data.chunks(4096).try_for_each(|chunk| file.write_all(chunk))?;
            file.flush()?;
            file.get_ref().sync_all()?;
        }
        "chunks" => in_chunks(&data, CHUNK)?,
        "copy" => copy(&args[3])?,
        "constant" => in_chunks(&vec![0xcd; mib << 20], CHUNK)?,
        other => panic!("there is no way '{other}'"),
    }
    let seconds = began.elapsed().as_secs_f64();
    println!("Wrote {mib} MB in {seconds:.3}s ({:.1} MiB/s)", mib as f64 / seconds);
    Ok(())
}

fn in_chunks(data: &[u8], bytes: usize) -> Result<()> {
    let mut file = File::create("out")?;
    data.chunks(bytes).try_for_each(|chunk| file.write_all(chunk))?;
    file.sync_all()
}

fn copy(input: &str) -> Result<()> {
    let (mut from, mut to) = (File::open(input)?, File::create("out")?);
    let mut chunk = vec![0; CHUNK];
    loop {
        match from.read(&mut chunk)? {
            0 => return to.sync_all(),
            bytes => to.write_all(&chunk[..bytes])?,
        }
    }
}
