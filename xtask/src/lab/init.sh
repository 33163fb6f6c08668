#!/bin/busybox sh
# The first process of a guest. It mounts a tmpfs over the read-only root image, adds the modules,
# and starts the scenario there.
B=/bin/busybox
$B mkdir -p /proc /sys /dev
$B mount -t proc proc /proc
$B mount -t sysfs sysfs /sys
$B mount -t devtmpfs dev /dev
# Retries modules that depend on others.
for pass in 1 2 3; do
    for module in $($B cat /m/order); do $B insmod "/m/$module" 2>/dev/null; done
done
disk() {
    for block in /sys/block/vd*; do
        [ "$($B cat "$block/serial" 2>/dev/null)" = "$1" ] && echo "/dev/${block##*/}" && return
    done
}
tries=0
while [ -z "$(disk labmods)" ] && [ $tries -lt 50 ]; do
    $B sleep 0.1
    tries=$((tries + 1))
done
$B mount -t ext4 -o ro,noload "$(disk labroot)" /low
$B mount -t tmpfs -o size=64m tmpfs /up
$B mkdir -p /up/upper /up/work
$B mount -t overlay -o lowerdir=/low,upperdir=/up/upper,workdir=/up/work overlay /new
$B mount -t ext4 -o ro,noload "$(disk labmods)" /new/lib/modules
$B mkdir -p /new/lab /new/data
$B cp -r /job/* /new/lab/
disk labout > /new/lab/out-device
for mount in sys proc dev; do $B mount --move /$mount /new/$mount; done
exec $B switch_root /new /lab/start
