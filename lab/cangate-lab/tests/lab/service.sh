# The package in a real systemd. What each step prints follows its line `== name`.
cd /tmp
. /lab/debian.sh
cp /lab/cangate.deb $root/root
for module in can-gw sch_ingress cls_bpf; do modprobe $module; done
files=$root/etc/cangate
# A gateway file with so many routes, to vcan1 or to another interface.
gateway() {
    {
        echo "$2"
        printf '[ports.%s]\nkind = "socketcan"\ninterface = "%s"\n' in vcan0 out ${4:-vcan1}
        for n in $(seq $1); do
            printf '[[routes]]\nname = "r%s"\nfrom = "in"\nto = "out"\nid = "10%s"\nkind = "classic"\n' $n $n
        done
    } >$files/new
    mv $files/new $files/$3.toml
}
ctl() { in_debian systemctl "$@" 2>&1; }
# Properties of a gateway's unit, each with its value.
show() {
    unit=cangate@$1
    shift
    for name; do echo "$name=$(ctl show -P $name $unit)"; done
}
pid() { ctl show -P MainPID cangate@$1; }
listeners() { grep -c "^ *vcan1 " /proc/net/can/rcvlist_all; }
# What is sent to a bus comes out of the other.
passes() {
    heard=$(listeners)
    candump -L -n 1 -T 30000 vcan1 >out &
    dump=$!
    wait_for '[ $(listeners) -gt $heard ]'
    cansend vcan0 $1
    wait $dump
    sed 's/^([0-9.]*) //' out
    [ -s out ] || missing
}
# What may explain that no frame came.
missing() {
    echo "no frame came"
    in_debian cangate stats /etc/cangate/body.toml 2>&1
    in_debian journalctl -q -o short-monotonic -u cangate@body | tail -20
    ip -statistics link show vcan0
    cat /proc/net/can/rcvlist_all /proc/net/can/rcvlist_sff /proc/uptime
}
echo "== install"
in_debian dpkg -i /root/cangate.deb 2>&1 | tail -4
[ -x $root/usr/bin/cangate ] || exit 1
in_debian cangate --version | sed 's/ .*//'
ls $root/usr/share/man/man1/cangate-run.1.gz $root/usr/share/bash-completion/completions/cangate
in_debian systemd-analyze verify --man=no cangate@body.service 2>&1 | grep cangate
echo "== exposure"
in_debian systemd-analyze security --offline=yes cangate@body.service 2>&1 | grep 'Overall exposure'
echo "== start"
gateway 2 '' body
ctl start cangate@body
show body ActiveState StatusText Result
id=$(pid body)
for pid in $(in_debian cat /proc/$id/status | grep -i 'CapEff\|NoNewPrivs' | tr -d '\t '); do echo $pid; done
in_debian cat /proc/$id/status | grep -q '^Uid:[[:space:]]*0[[:space:]]' && echo 'it is root'
in_debian cangate stats | grep -c '^ r[12] '
passes 101#11
journal() { in_debian journalctl -q -o cat -u cangate@$1; }
journal body | grep -c 'priority\|not locked'
echo "== reload"
gateway 3 '' body
ctl reload cangate@body
show body ActiveState StatusText NRestarts
passes 103#33
gateway 4 '' body
ctl kill -s HUP cangate@body
wait_for '[ "$(ctl show -P StatusText cangate@body | cut -d";" -f1)" = "2 ports, 4 routes" ]'
passes 104#44
[ $(pid body) = $id ] && echo 'the same process'
echo "== refused"
echo 'nonsense = 1' >>$files/body.toml
ctl reload cangate@body >said || echo "status $?"
show body ActiveState StatusText
journal body | grep -c 'nonsense'
passes 104#44
echo "== watchdog"
gateway 2 '' body
ctl set-property --runtime cangate@body TasksMax=64
# /run of the system is a mount of its own.
mkdir -p $root/etc/systemd/system/cangate@body.service.d
printf '[Service]\nWatchdogSec=2\n' >$root/etc/systemd/system/cangate@body.service.d/fast.conf
ctl daemon-reload
ctl restart cangate@body
id=$(pid body)
ctl kill --kill-who=main -s STOP cangate@body
wait_for '[ "$(ctl show -P NRestarts cangate@body)" = 1 ]'
wait_for '[ "$(ctl is-active cangate@body)" = active ]'
[ $(pid body) = $id ] || echo 'another process'
show body ActiveState NRestarts
journal body >said
grep -m1 -o 'Watchdog timeout (limit 2s)' said || cat said
rm -r $root/etc/systemd/system/cangate@body.service.d
ctl daemon-reload
passes 102#22
echo "== two"
gateway 1 '' other
ctl start cangate@other
in_debian sh -c 'ls /run/cangate-*/'
[ "$(ctl show -P UID cangate@other)" = "$(ctl show -P UID cangate@body)" ] && echo 'one user'
ctl stop cangate@other
show other ActiveState Result
in_debian sh -c 'ls -d /run/cangate-*/'
in_debian cangate stats | grep -c '^ r[12] '
echo "== others"
for file in /etc/cangate/body.toml ""; do
    nsenter --target $(first) --mount --pid --cgroup --root --wd --setuid 65534 --setgid 65534 -- \
        /usr/bin/cangate stats $file 2>&1
done
echo "== wrong"
gateway 1 'nonsense = 1' wrong
ctl start cangate@wrong >said || echo "status $?"
show wrong Result ExecMainStatus NRestarts
journal wrong | grep -c 'nonsense'
ctl start cangate@missing >said || echo "status $?"
journal missing | grep 'missing.toml'
show missing Result ExecMainStatus NRestarts
echo "== kernel"
# A vcan shows nobody what BPF puts into it.
ip link add vx0 type vxcan peer name vx1
ip link set vx0 up && ip link set vx1 up
for offload in can-gw bpf; do
    gateway 2 "[gateway]
offload = \"$offload\"" $offload vx0
    ctl stop cangate@$offload
    mkdir -p $root/etc/systemd/system/cangate@$offload.service.d
    cp $root/usr/share/doc/cangate/kernel-routes.conf $root/etc/systemd/system/cangate@$offload.service.d
    ctl daemon-reload
    ctl start cangate@$offload || journal $offload
    in_debian cangate routes /etc/cangate/$offload.toml | grep sent
    in_debian systemd-analyze security --offline=yes cangate@$offload.service 2>&1 | grep 'Overall exposure'
    ctl stop cangate@$offload
done
echo "== upgrade"
id=$(pid body)
in_debian dpkg -i /root/cangate.deb >said 2>&1
show body ActiveState
[ $(pid body) = $id ] || echo 'another process'
echo "== remove"
ctl enable cangate@body >said
in_debian dpkg -r cangate >said 2>&1 && echo removed
ctl daemon-reload
show body LoadState ActiveState
ls $root/usr/bin/cangate $root/etc/systemd/system/*.wants/cangate* 2>/dev/null
ls $files
echo "== page"
# The page's packages are part of the system; nothing is fetched here.
mkdir -p $root/usr/local/bin
printf '#!/bin/sh\nshift 2\nexec dpkg --status "$@" >/dev/null\n' >$root/usr/local/bin/apt-get
chmod 755 $root/usr/local/bin/apt-get
mkdir -p $root/root/target/package
mv $root/root/cangate.deb $root/root/target/package/cangate_0.1.0-1_amd64.deb
cp /lab/page.sh $root/root
rm -r $files
in_debian bash -c 'export PATH=/usr/local/bin:$PATH; cd /root && exec bash -e page.sh' 2>&1 || echo "status $?"
show body StatusText UnitFileState
echo "== done"
