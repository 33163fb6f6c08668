"""Storage of many kinds, with what is true of it because it was made that way."""

from dataclasses import dataclass, replace

import shell

IMAGE = "768M"


@dataclass
class Storage:
    """A folder to measure."""

    folder: str
    # The block device that only this folder uses, or None.
    own: str | None = None
    # The devices that the bytes pass, from the own one down, by their names in /sys/block.
    devices: tuple = ()
    # A flush of the file reaches the lowest device; on memory there is none to reach.
    flushes: bool = True
    # Its files are in memory.
    in_memory: bool = False
    # What is written may be stored in fewer bytes.
    compresses: bool = False
    # A part of it is in memory: its journal, or also some of its data.
    partly_in_memory: bool = False
    has_data_in_memory: bool = False
    # The page cache of the file system below may serve the own device.
    cached_below: bool = False
    # No counter of this machine sees what serves a file.
    unseen: bool = False
    # There is no file system: the own device is written.
    is_device: bool = False
    # Its device takes requests, which tracepoints show as they are done.
    has_requests: bool = True


def number(device):
    """The number of a device, as control groups and tracepoints have it."""
    with open(f"/sys/class/block/{device}/dev", encoding="ascii") as file:
        return file.read().strip()


def below(folder, sh):
    """The disk below `folder`, or None in memory."""
    if sh.run(f"stat -f -c %T {folder}") == "tmpfs":
        return None
    source = sh.run(f"findmnt -n -o SOURCE -T {folder}")
    name = sh.run(f"lsblk -n -o PKNAME {source} | head -n 1") or source.removeprefix("/dev/")
    return name.removeprefix("/dev/")


def plain(sh, work):
    folder = f"{work}/plain"
    sh.run(f"mkdir -p {folder}", f"rm -rf {folder}")
    disk = below(folder, sh)
    if disk is None:
        return Storage(folder, flushes=False, in_memory=True)
    return Storage(folder, devices=(disk,))


def loop(image, direct, on_disk, sh):
    """A loop device over a new file."""
    sh.run(f"truncate -s {IMAGE} {image}", f"rm -f {image}")
    if on_disk:
        # Every block of the image lies on the disk: a hole of it is read from no device.
        sh.run(f"fallocate -l {IMAGE} {image}")
    flag = "on" if direct else "off"
    node = sh.run(f"losetup --find --show --direct-io={flag} {image}")
    sh.undo.append(f"losetup -d {node}")
    return node


def on_loop(make, mount="defaults", direct=True, prepare=None, **truths):
    """A file system on a loop device; `prepare` is done to the device before, and undone."""

    def plant(sh, work):
        folder, disk = f"{work}/mounted", below(work, sh)
        node = loop(f"{work}/image", direct, disk, sh)
        device = node.removeprefix("/dev/")
        if prepare:
            sh.run(*(line.format(device=device) for line in prepare))
        sh.run(f"{make} {node}")
        sh.run(f"mkdir -p {folder}", f"rmdir {folder}")
        sh.run(f"mount -o {mount} {node} {folder}", f"umount {folder}")
        made = Storage(folder, own=device, devices=(device, disk) if disk else (device,),
                       cached_below=not direct, **truths)
        return made if disk else replace(made, flushes=False, in_memory=True)

    return plant


def raw(sh, work):
    """A loop device without a file system, which is written itself."""
    disk = below(work, sh)
    node = loop(f"{work}/image", True, disk, sh)
    device = node.removeprefix("/dev/")
    return Storage(work, own=device, devices=(device, disk) if disk else (device,), is_device=True,
                   flushes=disk is not None, in_memory=disk is None)


def over_memory(make, mount="defaults", **truths):
    """A file system on a loop device, of which a second one, in memory, holds a part. Both are
    named in what makes and mounts it."""

    def plant(sh, work):
        folder, memory = f"{work}/mounted", f"{work}/memory"
        sh.run(f"mkdir -p {memory} {folder}", f"rmdir {memory} {folder}")
        sh.run(f"mount -t tmpfs -o size=1G none {memory}", f"umount {memory}")
        disk = below(work, sh)
        node = loop(f"{work}/image", True, disk, sh)
        other = loop(f"{memory}/image", True, None, sh)
        sh.run(make.format(node=node, other=other))
        sh.run(f"mount -o {mount.format(other=other)} {node} {folder}", f"umount {folder}")
        devices = [node.removeprefix("/dev/"), *([disk] if disk else [])]
        return Storage(folder, devices=tuple(devices), flushes=False, partly_in_memory=True,
                       in_memory=disk is None, **truths)

    return plant


def in_memory(sh, work):
    folder = f"{work}/memory"
    sh.run(f"mkdir -p {folder}", f"rmdir {folder}")
    sh.run(f"mount -t tmpfs -o size=512M none {folder}", f"umount {folder}")
    return Storage(folder, flushes=False, in_memory=True)


def compressed_memory(sh, work):
    sh.run("modprobe zram num_devices=0 || test -d /sys/class/zram-control")
    index = sh.run("cat /sys/class/zram-control/hot_add")
    device, folder = f"zram{index}", f"{work}/zram"
    sh.undo.append(f"echo {index} > /sys/class/zram-control/hot_remove")
    sh.run(f"echo 384M > /sys/block/{device}/disksize")
    sh.run(f"mkfs.ext4 -q /dev/{device}")
    sh.run(f"mkdir -p {folder}", f"rmdir {folder}")
    sh.run(f"mount /dev/{device} {folder}", f"umount {folder}")
    return Storage(folder, own=device, devices=(device,), flushes=False, in_memory=True,
                   compresses=True, has_requests=False)


def overlay(options=""):
    """An overlay whose upper layer is an ext4 of its own."""

    def plant(sh, work):
        lower = on_loop("mkfs.ext4 -q")(sh, work)
        top, folder = lower.folder, f"{work}/overlay"
        sh.run(f"mkdir {top}/low {top}/up {top}/work {folder}", f"rmdir {folder}")
        layers = f"lowerdir={top}/low,upperdir={top}/up,workdir={top}/work{options}"
        sh.run(f"mount -t overlay overlay -o {layers} {folder}", f"umount {folder}")
        return replace(lower, folder=folder, flushes=lower.flushes and not options)

    return plant


def fuse(sh, work):
    lower = on_loop("mkfs.ext4 -q")(sh, work)
    top, folder = lower.folder, f"{work}/fuse"
    sh.run(f"mkdir {top}/shown {folder}", f"rmdir {folder}")
    sh.run(f"bindfs {top}/shown {folder}", f"umount {folder}")
    return replace(lower, folder=folder, unseen=True)


# A device that says that its writes need no flush gets none, and the disk below gets none either.
# It says so even to those who have the device later.
UNFLUSHED = [f"echo write {word} > /sys/block/{{device}}/queue/write_cache"
             for word in ("through", "back")]
EXT4, XFS, BTRFS = "mkfs.ext4 -q", "mkfs.xfs -q", "mkfs.btrfs -q"
KINDS = {
    "plain": plain,
    "ext4": on_loop(EXT4),
    "ext4 without a journal": on_loop(f"{EXT4} -O ^has_journal"),
    "ext4 data=journal": on_loop(EXT4, "data=journal"),
    "ext4 nobarrier": on_loop(EXT4, "nobarrier", flushes=False),
    "ext4 on a loop without flushes": on_loop(EXT4, prepare=UNFLUSHED, flushes=False),
    "ext4 sync": on_loop(EXT4, "sync"),
    "ext4 on a cached loop": on_loop(EXT4, direct=False),
    "xfs": on_loop(XFS),
    "xfs on a cached loop": on_loop(XFS, direct=False),
    "btrfs": on_loop(BTRFS),
    "btrfs compress": on_loop(BTRFS, "compress=zstd", compresses=True),
    "btrfs nodatasum": on_loop(BTRFS, "nodatasum"),
    "ext4 with its journal in memory": over_memory(
        "mke2fs -q -b 4096 -O journal_dev {other} && "
        "mkfs.ext4 -q -b 4096 -J device={other} {node}"),
    "xfs with its log in memory": over_memory("mkfs.xfs -q -l logdev={other},size=64m {node}",
                                              "logdev={other}"),
    "btrfs over memory": over_memory("mkfs.btrfs -q -d raid0 -m raid0 {node} {other}",
                                     has_data_in_memory=True),
    "raw device": raw,
    "tmpfs": in_memory,
    "zram": compressed_memory,
    "overlay": overlay(),
    "overlay volatile": overlay(",volatile"),
    "fuse": fuse,
}
# What a fault is tried on first when it is shrunk.
SIMPLEST = ("plain", "ext4")


def plant(kind, sh, work):
    """Makes storage of `kind` in the folder `work`; `sh` undoes it."""
    try:
        return KINDS[kind](sh, work)
    except OSError as error:
        raise shell.Failed(f"{kind}: {error}") from error
