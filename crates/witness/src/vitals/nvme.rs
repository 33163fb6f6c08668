//! What NVMe drives count: two of their log pages.

use crate::path::links::nvme_controllers;
use crate::sysfs::{file_name, text};
use model::vitals::{CapPage, CapTimes, SmartPage};
use std::fs::{self, OpenOptions};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// A log page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Page {
    /// SMART and health (NVM Express Base Specification, 5.16.1.3).
    Smart,
    /// What a cloud's limits held back (Amazon EBS User Guide, "detailed performance statistics").
    Caps,
}

impl Page {
    /// Its number, the namespace that it is asked of, and its size in bytes.
    fn shape(self) -> (u8, u32, usize) {
        match self {
            Page::Smart => (0x02, u32::MAX, SMART_BYTES),
            Page::Caps => (0xd0, 1, CAPS_BYTES),
        }
    }
}

const SMART_BYTES: usize = 512;
const CAPS_BYTES: usize = 4096;

/// The models of disks that have [`Page::Caps`].
pub(super) const CAPPED_MODELS: [&str; 2] =
    ["Amazon Elastic Block Store", "Amazon EC2 NVMe Instance Storage"];

/// With what the page begins for a volume, and for a drive of the instance.
const VOLUME_MAGIC: u32 = 0x3c23_b510;
const INSTANCE_MAGIC: u32 = 0xec2c_0d7e;

/// The sysfs directory of the only controller of the disk at the sysfs directory `disk`, if it is
/// a PCIe device that works: others answer late or never.
pub(super) fn controller(disk: &Path) -> Option<PathBuf> {
    let device = fs::canonicalize(disk.join("device")).ok()?;
    let [controller] = nvme_controllers(&device).try_into().ok()?;
    let is = |name: &str, expected: &str| text(&controller.join(name)).as_deref() == Some(expected);
    // A device that the OS suspended would be woken.
    let sleeps = is("device/power/runtime_status", "suspended");
    (is("transport", "pcie") && is("state", "live") && !sleeps).then_some(controller)
}

/// `struct nvme_passthru_cmd` of `linux/nvme_ioctl.h`.
#[repr(C)]
#[derive(Default)]
struct AdminCommand {
    opcode: u8,
    flags: u8,
    reserved: u16,
    namespace: u32,
    words_2_3: [u32; 2],
    metadata: u64,
    address: u64,
    metadata_bytes: u32,
    bytes: u32,
    words_10_15: [u32; 6],
    timeout_ms: u32,
    result: u32,
}

/// `_IOWR('N', 0x41, struct nvme_passthru_cmd)`.
const ADMIN_COMMAND: u32 = 0xc048_4e41;
const _: () = assert!(size_of::<AdminCommand>() == 0x48);

const GET_LOG_PAGE: u8 = 0x02;

/// Asks the controller at a sysfs directory for a log page. This only reads, and the drive's own
/// time limit stays: a shorter one would reset a busy drive.
pub(super) fn ask(controller: &Path, page: Page) -> Option<Vec<u8>> {
    let node = Path::new("/dev").join(file_name(controller));
    let flags = libc::O_NONBLOCK | libc::O_CLOEXEC;
    let device = OpenOptions::new().read(true).custom_flags(flags).open(&node).ok()?;
    device.metadata().ok().filter(|it| it.file_type().is_char_device())?;
    let (number, namespace, bytes) = page.shape();
    let mut answer = vec![0u8; bytes];
    let words = (bytes / 4 - 1) as u32;
    let mut command = AdminCommand {
        opcode: GET_LOG_PAGE,
        namespace,
        address: answer.as_mut_ptr() as u64,
        bytes: bytes as u32,
        words_10_15: [u32::from(number) | words << 16, 0, 0, 0, 0, 0],
        ..AdminCommand::default()
    };
    // SAFETY: the descriptor is open while `device` lives. `command` has the layout of the kernel's
    // header, whose size the number of the request contains and the assertion above checks. The
    // kernel writes at most `bytes` bytes to `answer`, which has as many and outlives the call, and
    // the result to `command`.
    let outcome =
        unsafe { libc::ioctl(device.as_raw_fd(), ADMIN_COMMAND as libc::Ioctl, &raw mut command) };
    (outcome == 0).then_some(answer)
}

/// The SMART page in these bytes; `None` if they are not whole, or if the drive fills nothing in.
pub(super) fn smart(bytes: &[u8]) -> Option<SmartPage> {
    if bytes.len() < SMART_BYTES || bytes.iter().all(|byte| *byte == 0) {
        return None;
    }
    let number = |at: usize| u32_at(bytes, at);
    Some(SmartPage {
        critical_warning: bytes[0],
        temperature_k: Some(u16::from_le_bytes([bytes[1], bytes[2]])).filter(is_temperature),
        spare_percent: bytes[3],
        used_percent: bytes[5],
        // It has 16 bytes. No drive has had so many.
        media_errors: u64_at(bytes, 160).filter(|_| u64_at(bytes, 168) == Some(0))?,
        warning_minutes: number(192)?,
        critical_minutes: number(196)?,
        slowed_times: [number(216)?, number(220)?],
        slowed_s: [number(224)?, number(228)?],
    })
}

/// Temperatures at which a drive can work, with a margin.
fn is_temperature(kelvins: &u16) -> bool {
    (223..=423).contains(kelvins)
}

/// How long limits held a volume back, in these bytes; `None` if they are not whole, or not such a
/// page.
pub(super) fn caps(bytes: &[u8]) -> Option<CapPage> {
    if bytes.len() < CAPS_BYTES {
        return None;
    }
    let times = |at: usize| {
        Some(CapTimes { iops_us: u64_at(bytes, at)?, throughput_us: u64_at(bytes, at + 8)? })
    };
    let volume = match u32_at(bytes, 0)? {
        VOLUME_MAGIC => Some(times(56)?),
        INSTANCE_MAGIC => None,
        _ => return None,
    };
    Some(CapPage { volume, instance: times(72)? })
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at.checked_add(4)?)?.try_into().ok()?))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.get(at..at.checked_add(8)?)?.try_into().ok()?))
}
