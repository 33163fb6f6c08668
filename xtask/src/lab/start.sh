#!/bin/bash
# Runs the scenario, and hands what came of it to the host as a tar on a disk of its own.
export PATH=/lab:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 NO_COLOR=1
export XDG_STATE_HOME=/run/state XDG_CACHE_HOME=/run/cache
for folder in /run /tmp /out /dev/shm; do
    mkdir -p "$folder"
    mount -t tmpfs tmpfs "$folder"
done
mount -t cgroup2 cgroup2 /sys/fs/cgroup
ip link set lo up
echo "=== $(uname -r)"
for module in $(cat /lab/modules); do modprobe "$module"; done
# There is no udev that LVM could wait for.
mkdir -p /etc/lvm
cat > /etc/lvm/lvm.conf <<'EOF'
devices { obtain_device_list_from_udev=0 use_devicesfile=0 }
activation { udev_sync=0 udev_rules=0 monitoring=0 }
EOF
# Waits until a device is there.
wait_for() {
    local tries=0
    until [ -e "$1" ] || [ $tries -ge 100 ]; do
        sleep 0.1
        tries=$((tries + 1))
    done
}
(
    set -e
    . /lab/prepare
)
if [ $? = 0 ] && cd /data && findmnt /data; then
    ioassay host . > /out/host.json
    # The words of the file are the arguments.
    eval "ioassay $(cat /lab/run) --json --record /out/record.jsonl" \
        > /out/report.json 2> /out/errors
    echo $? > /out/status
    cat /out/errors
else
    echo "/data was not prepared" | tee /out/errors
fi
echo "=== end"
tar -cf "$(cat /lab/out-device)" -C /out .
sync
echo o > /proc/sysrq-trigger
sleep 60
