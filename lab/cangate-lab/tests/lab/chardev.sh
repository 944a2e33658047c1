# Controllers as character devices: all that canchar.h promises, and floods while devices come and go.
# chardev.sh timed|kvaser. The C programs are kmod/canchar/test's. What each step prints follows its line `== name`.
cd /tmp
bench=$1
faults() { dmesg | grep -c 'BUG:\|WARNING:\|Oops\|KASAN\|hung task\|general protection\|possible recursive\|inconsistent lock'; }

# Takes the devices away, and makes them again.
if [ $bench = timed ]; then
    # The interfaces make room.
    for name in gw0 gw1; do echo del $name >/dev/bitcan; done
    pair="/dev/gw0 /dev/gw1"
    model=sja1000
    take() { echo del gw$1 >/dev/bitcan; }
    make() { echo add gw$1 bus=0 model=chardev-$model >/dev/bitcan; }
    module=bitcan
    set -- "$pair"
else
    model=kvaser
    slots="10 12"
    for slot in $slots; do echo 0000:00:$slot.0 >/sys/bus/pci/drivers/kvaser_pci/unbind; done
    insmod /lab/canchar.ko || exit 1
    for slot in $slots; do echo 0000:00:$slot.0 >/sys/bus/pci/drivers/canchar_kvaser/unbind; done
    pair="/dev/can0 /dev/can1"
    slot() { [ $1 = 0 ] && echo 0000:00:10.0 || echo 0000:00:12.0; }
    take() { echo $(slot $1) >/sys/bus/pci/drivers/canchar_kvaser/unbind; }
    make() { echo $(slot $1) >/sys/bus/pci/drivers/canchar_kvaser/bind; }
    module=canchar
    set -- "$pair emulated"
fi

round() {
    make 0
    make 1
    canchar-test $1
    echo "status $?"
    echo "== flood $model"
    # An open file keeps the module, whether its device is there or not.
    exec 9<>${pair% *}
    canchar-flood $pair 4 &
    flood=$!
    n=0
    while kill -0 $flood 2>/dev/null; do
        sleep 0.3
        n=$((n + 1))
        # Under open files: they hang up.
        take $((n % 2))
        rmmod $module 2>/dev/null && echo "the module went while it was in use"
        make $((n % 2))
    done
    wait $flood
    echo "status $?"
    exec 9<&-
    # What was left behind by the killed ones hinders nobody.
    take 0
    take 1
    make 0
    make 1
    canchar-test $1
    echo "status $?"
    take 0
    take 1
}

PATH=$PATH:/lab
echo "== test"
round "$1"
if [ $bench = timed ]; then
    model=mscan
    echo "== test mscan"
    round "$1"
fi
if [ $bench = kvaser ]; then
    echo "== unload"
    canchar-flood $pair 4 &
    flood=$!
    times=0
    # Whenever nobody has a device open. The module takes the cards that have no driver.
    while kill -0 $flood 2>/dev/null; do
        rmmod $module 2>/dev/null && times=$((times + 1)) && insmod /lab/canchar.ko
        sleep 0.01
    done
    wait $flood
    echo "status $?"
    [ $times -gt 0 ] && echo "went and came"
    # The killed ones have left them started.
    for n in 0 1; do take $n; done
    for n in 0 1; do make $n; done
    canchar-test $1
    echo "status $?"
    rmmod $module && echo "removed"
fi
echo "== end"
echo "faults $(faults)"
dmesg | grep -A30 'BUG:\|WARNING:\|Oops\|KASAN' | head -60
echo "== done"
