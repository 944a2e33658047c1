# Starts systemd as the first process of a Debian system in this guest: with a process, mount and cgroup namespace of
# its own, as a container has; the network is the guest's. `in_debian COMMAND…` runs a command there.
root=/debian
mkdir -p $root
mount -t tmpfs -o size=600m,mode=755 tmpfs $root
tar -C $root -xf /lab/debian.tar && rm /lab/debian.tar
mkdir -p $root/proc $root/sys $root/dev $root/run $root/etc/systemd/system $root/lib/modules
cd $root/etc/systemd/system
ln -sf /lib/systemd/system/multi-user.target default.target
for unit in console-getty getty@ getty-static systemd-logind systemd-timesyncd dev-hugepages.mount; do
    case $unit in *.*) ;; *) unit=$unit.service ;; esac
    ln -sf /dev/null $unit
done
cat >/tmp/enter <<'END'
mount --make-rprivate /
mount --rbind /dev $1/dev
mount --rbind /lib/modules $1/lib/modules
mount -t proc proc $1/proc
mount -t sysfs sysfs $1/sys
mount -t cgroup2 cgroup2 $1/sys/fs/cgroup
mount -t tmpfs -o mode=755 tmpfs $1/run
cd $1
mount --move . /
exec chroot . /usr/bin/env -i container=lab PATH=/usr/sbin:/usr/bin:/sbin:/bin /lib/systemd/systemd --log-level=notice
END
cd /
unshare --pid --fork --mount --cgroup sh /tmp/enter $root >/tmp/boot 2>&1 &
outer=$!
first() { cat /proc/$outer/task/$outer/children 2>/dev/null | tr -d ' '; }
in_debian() {
    nsenter --target $(first) --mount --pid --cgroup --root --wd -- \
        /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root "$@"
}
# Waits until something holds, but not for ever.
wait_for() {
    n=0
    until eval "$1" >/dev/null 2>&1; do
        n=$((n + 1))
        [ $n -gt 600 ] && echo "never: $1" && return 1
        sleep 0.1
    done
}
wait_for 'in_debian systemctl is-system-running | grep -q "running\|degraded"' || cat /tmp/boot
in_debian systemctl --failed --no-legend --plain
