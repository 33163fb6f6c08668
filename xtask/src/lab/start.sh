#!/bin/bash
# Runs the scenarios and passes their results to the host as a tar on a separate disk.
export PATH=/lab:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 NO_COLOR=1
export XDG_STATE_HOME=/run/state XDG_CACHE_HOME=/run/cache
for folder in /run /tmp /out /dev/shm; do
    mkdir -p "$folder"
    mount -t tmpfs tmpfs "$folder"
done
mount -t cgroup2 cgroup2 /sys/fs/cgroup
ip link set lo up
uname -r > /out/release
for module in $(cat /lab/modules); do modprobe "$module"; done
# Without udev, LVM must not wait for it.
export DM_DISABLE_UDEV=1
mkdir -p /etc/lvm /run/lock
cat > /etc/lvm/lvm.conf <<'EOF'
devices { obtain_device_list_from_udev=0 use_devicesfile=0 }
activation { udev_sync=0 udev_rules=0 monitoring=0 }
global { thin_check_executable="" thin_repair_executable="" }
EOF
# Waits until a device exists.
wait_for() {
    local tries=0
    until [ -e "$1" ] || [ $tries -ge 100 ]; do
        sleep 0.1
        tries=$((tries + 1))
    done
}
# Prints the disk with this size in MiB.
by_size() {
    local tries=0 block
    while [ $tries -lt 100 ]; do
        for block in /sys/block/*; do
            # A multipath member has the size of its disk, but no device node.
            if [ "$(cat "$block/size")" = $(($1 * 2048)) ] && [ -e "/dev/${block##*/}" ]; then
                echo "/dev/${block##*/}"
                return
            fi
        done
        sleep 0.1
        tries=$((tries + 1))
    done
    return 1
}
# Creates a device mapper device: mapped NAME TABLE
mapped() {
    echo "$2" | dmsetup create --noudevsync "$1"
    dmsetup mknodes
}
sectors() { blockdev --getsz "$1"; }
# Creates and mounts an ext4 file system: ext4_on DEVICE [OPTIONS]
ext4_on() {
    wait_for "$1"
    mkfs.ext4 -q -F "$1"
    mount -t ext4 -o "${2:-defaults}" "$1" /data
}
# An ext4 file system below other mounts, shared by all scenarios of a machine.
below() {
    mkdir -p /mnt/disk
    mountpoint -q /mnt/disk && return
    ext4_on "$1"
    mount --move /data /mnt/disk
}
# A share of an NFS server on this machine, shared by all scenarios: nfs_on DEVICE
nfs_on() {
    below "$1"
    if ! mountpoint -q /proc/fs/nfsd; then
        mkdir -p /mnt/disk/share /var/lib/nfs/sm /var/lib/nfs/sm.bak /var/lib/nfs/v4recovery \
            /var/lib/nfs/rpc_pipefs
        mount -t nfsd nfsd /proc/fs/nfsd
        mount -t rpc_pipefs rpc /var/lib/nfs/rpc_pipefs
        echo '/mnt/disk/share 127.0.0.1(rw,sync,no_root_squash,no_subtree_check,fsid=0,insecure)' \
            > /etc/exports
        touch /var/lib/nfs/etab /var/lib/nfs/rmtab /var/lib/nfs/xtab
        exportfs -ra
        rpc.mountd --no-nfs-version 3
        rpc.nfsd --no-nfs-version 3 --no-udp 1
    fi
    mount -t nfs -o vers=4.2 127.0.0.1:/ /data
}
# Removes the remains of a scenario before the next one.
clean() {
    local end
    cd /
    # What a scenario left running is in a group of its own.
    for end in /sys/fs/cgroup/*/cgroup.kill; do echo 1 > "$end" && sleep 0.5; done
    while umount /data 2> /dev/null; do :; done
    losetup -D
    mdadm --stop --scan
    dmsetup remove_all
} 2> /dev/null
for name in $(cat /lab/scenarios); do
    out=/out/$name
    mkdir -p "$out"
    echo "=== $name, $(cut -d' ' -f1 /proc/uptime) s"
    (
        set -e
        . "/lab/$name/prepare"
        grep ' /data ' /proc/mounts
        cd /data
        set +e
        # The file contains the arguments. A path has no record.
        arguments=$(cat "/lab/$name/run")
        record="--record $out/record.jsonl"
        [ "${arguments%% *}" = path ] && record=
        eval "ioassay $arguments --json $record" > "$out/report.json" 2> "$out/errors"
        echo $? > "$out/status"
        # A line of the answer is one line here, and fits no terminal.
        [ -e "/lab/$name/survey" ] && COLUMNS=1000 eval "ioassay $(cat "/lab/$name/survey")" \
            --record "$out/survey.jsonl" > "$out/survey" 2> "$out/survey-errors"
        for tool in "/lab/$name"/tools/*; do
            [ -e "$tool" ] && (. "$tool") > "$out/${tool##*/}"
        done
        cat "$out/errors"
    )
    [ -e "$out/status" ] || echo "/data was not prepared: see console.txt" > "$out/errors"
    clean
done
echo "=== end, $(cut -d' ' -f1 /proc/uptime) s"
tar -cf "$(cat /lab/out-device)" -C /out .
sync
echo o > /proc/sysrq-trigger
while :; do :; done
