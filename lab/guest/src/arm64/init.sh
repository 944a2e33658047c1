#!/busybox sh
# The first process of an arm64 guest: mounts, loads drivers, names the interfaces of the cards, runs
# the script and ends the machine.
export PATH=/lab:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C
/busybox mount -t proc proc /proc
/busybox mount -t sysfs sys /sys
/busybox mount -t devtmpfs dev /dev
/busybox mount -t tmpfs run /run
/busybox mount -t tmpfs tmp /tmp
# Only what ends the machine may come between the script's lines.
/busybox dmesg -n 1
for module in can can-raw can-gw vcan kvaser_pci; do
    modprobe "$module" || echo "no module $module"
done
# Two steps: a name may still be another card's.
while read -r name address; do
    set -- /sys/bus/pci/devices/"$address"/net/*
    ip link set dev "${1##*/}" name "new-$name"
done </lab/cards
while read -r name _; do
    ip link set dev "new-$name" name "$name"
done </lab/cards
cd /root
/bin/sh /lab/script 2>&1
# Begins a line wherever the script's last one ended.
printf '\n@@status %s\n' "$?"
# The serial line has sent all when this time, which is virtual, has passed.
/busybox sleep 1
/busybox poweroff -f
