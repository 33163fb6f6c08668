//! Restricts a run to CPUs and a NUMA node.

use anyhow::{Context, Result, bail};
use model::host::cpus_text;
use witness::placement;

/// Restricts this program, and thereby all workers that it starts, to the CPUs in `pin` and to the
/// CPUs and memory of `node`. Returns the CPUs for threads, one each.
///
/// # Errors
/// If the list is invalid, or names CPUs that do not exist, are not allowed or do not belong to the
/// node; or if there is no such node.
pub fn bind(pin: Option<&str>, node: Option<u32>) -> Result<Option<Vec<u32>>> {
    if pin.is_none() && node.is_none() {
        return Ok(None);
    }
    let mut usable = placement::allowed().context("failed to read which CPUs are allowed")?;
    if let Some(node) = node {
        let of_node = placement::node_cpus(node)
            .map_err(|reason| anyhow::anyhow!("--node {node} cannot be used: {reason}"))?;
        usable.retain(|cpu| of_node.contains(cpu));
        if usable.is_empty() {
            bail!("--node {node} cannot be used: this process may not run on any of its CPUs");
        }
        placement::take_memory_of(node).with_context(|| {
            format!(
                "failed to bind memory to node {node} (a container needs --cap-add SYS_NICE for it)"
            )
        })?;
    }
    let cpus = match pin {
        None | Some("all") => usable,
        Some(list) => {
            let Some(cpus) = placement::parse_cpus(list) else {
                bail!("--pin '{list}' is not a list of CPUs: write 0,2,4-7 or all");
            };
            if let Some(cpu) = cpus.iter().find(|cpu| !usable.contains(cpu)) {
                bail!("--pin {list}: CPU {cpu} is not allowed; allowed are {}", cpus_text(&usable));
            }
            cpus
        }
    };
    placement::run_on(&cpus)
        .with_context(|| format!("failed to bind to the CPUs {}", cpus_text(&cpus)))?;
    Ok(pin.map(|_| cpus))
}
